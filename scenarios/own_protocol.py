"""A protocol of one's own: Ringmaster ASGD that stops late minibatches (Maranjyan, Tyurin, Richtarik, ICML 2025)."""


class Ringmaster:
    """Asynchronous SGD; a minibatch whose gradient would be `threshold` updates late, or more, stops and begins anew."""

    def __init__(self, threshold):
        self.threshold = threshold

    def on_gradient(self, server, gradient):
        server.apply(gradient)
        server.dispatch(gradient.learner)
        for learner in range(server.learners()):
            computed = server.computing(learner)
            if computed and server.version() - computed.version >= self.threshold:
                server.cancel(computed)
                server.dispatch(learner)
