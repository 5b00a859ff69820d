"""What a reader has to know beside the figures, said once for every form of report."""

INTERVALS = (
    "In brackets stands the 95% interval: with this many questions, the true figure may lie anywhere in it. Rates have "
    "a Wilson interval; so have the means (MRR, nDCG, recall), where it is wider than need be. Two intervals that "
    "overlap may still hide a real difference, so use them to doubt one figure, and not to compare two."
)

POINTS = "This table shows values without their intervals."

GATE = (
    "A passage with three or more telling words of the question is given out at any threshold. A high one therefore "
    "silences only questions that are short or share few words with the text."
)

NEAR_MISS = (
    "Near-miss answers: every answerable question was asked once more with all of its accepted items hidden, and "
    "copies of them too. Whatever came back then is counted as a false answer, although some of it may be a fair one "
    "that the questions file does not list: read it as an upper bound."
)

OWN_THRESHOLDS = (
    "Each candidate has an index of its own and its own threshold, since one model's similarities say nothing about "
    "another's. Load is the time to start it, Index the time to embed every source."
)

SHARED_THRESHOLD = (
    "Each candidate has an index of its own; all were asked at one threshold, which suits some models more than "
    "others. Load is the time to start it, Index the time to embed every source."
)

PAIRS = (
    "The same questions went to every candidate, so two of them are best compared question by question. Changed "
    "counts the questions that exactly one of the two got right; p is McNemar's exact test of whether chance alone "
    "would split them so unevenly. Of many pairs some come out with a small p by luck."
)
