#pragma once

#include "models/datasets/labelled_rows.h"

namespace gradrace {

/// "column "x"", or "feature 1" where it has no name.
std::string name_of(const LabelledRows& rows, std::size_t feature);

/// Puts the test rows' columns into the order of the training rows'; false where they have others.
bool put_in_order(const LabelledRows& train, LabelledRows& test);

/// Leaves the first feature out of both where in the training rows it numbers them.
void leave_out_row_numbers(LabelledRows& train, LabelledRows& test);

/// Puts in the place of a feature of words one for each word of the training rows' file: 1 where it
/// stands, else 0, which all are where none does.  std::runtime_error where the test rows have
/// words for numbers, or numbers for words.
void number_words(LabelledRows& train, LabelledRows& test);

/// (x - mean) / standard deviation of the training rows, each feature by itself; 0 where all
/// training rows are the same.  std::runtime_error of rows that are listed.
void standardise(LabelledRows& train, LabelledRows& test);

/// What to say of training rows whose features are of very different size, as gradients with one
/// learning rate for all of them do badly; empty where there is nothing to say.
std::string note_of_scales(const LabelledRows& train);

}  // namespace gradrace
