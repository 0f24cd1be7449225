#pragma once

#include "models/datasets/labelled_rows.h"

namespace gradrace {

/// Says whether an unnamed first feature numbers the rows, and notes what in them may be meant
/// otherwise than it is read: labels that are targets or several, or that one row has; ids; marks
/// of what is missing; features that the label implies. std::runtime_error where labels are targets
/// for certain.
void note_doubts(LabelledRows& rows, bool regression);

}  // namespace gradrace
