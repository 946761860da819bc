"""One place to import the classes of all results from; each is defined beside the procedure that makes it.

Results are frozen. They compare by content, can be pickled, print in a few lines, show as a card in notebooks, and
`to_dict` gives plain numbers and text for JSON.
"""

from .data.risks import Risks
from .frontier.regret import Regret
from .frontier.sets import BestPoints, FeasibleSet, FrontierCurve
from .inference.aware.groups import GroupTest
from .inference.ban.result import BanCost
from .inference.bands import EstimatedFeasibleSet, SetTest, SupportBand
from .inference.best_points import BestPointTests
from .inference.distance.result import DistanceDifference, DistanceInterval, DistanceIntervals, FairestPoint
from .inference.fan.evidence import JointEvidence
from .inference.fan.result import JointLDATest, JointLDATests
from .inference.fan.witness import JointWitness
from .inference.group_skew import GroupSkewTest
from .inference.lda.evidence import Evidence, GainBound
from .inference.lda.learner_check import LearnerCheck
from .inference.lda.result import LDATest, LDATests
from .inference.lda.witness import Witness
from .inference.listed_points import PointContradiction
from .inference.pairs import PairTests
from .inference.points import PointTests
from .inference.regions import FrontierRegion
from .inference.skew_search import BestPointsSet
from .inference.trade_off import TradeOffCurve
from .inference.usual.figures import UsualFigures
from .inference.usual.questions import UsualFiguresByName
from .learning.cross_fitting import Nuisance
from .learning.diagnostics import Diagnostics
from .learning.learner_report import LearnerReport
from .rules.alternatives import Alternatives
from .rules.evaluation import Evaluation
from .rules.linear import Restriction

__all__ = [
    "Alternatives",
    "BanCost",
    "BestPointTests",
    "BestPoints",
    "BestPointsSet",
    "Diagnostics",
    "DistanceDifference",
    "DistanceInterval",
    "DistanceIntervals",
    "EstimatedFeasibleSet",
    "Evaluation",
    "Evidence",
    "FairestPoint",
    "FeasibleSet",
    "FrontierCurve",
    "FrontierRegion",
    "GainBound",
    "GroupSkewTest",
    "GroupTest",
    "JointEvidence",
    "JointLDATest",
    "JointLDATests",
    "JointWitness",
    "LDATest",
    "LDATests",
    "LearnerCheck",
    "LearnerReport",
    "Nuisance",
    "PairTests",
    "PointContradiction",
    "PointTests",
    "Regret",
    "Restriction",
    "Risks",
    "SetTest",
    "SupportBand",
    "TradeOffCurve",
    "UsualFigures",
    "UsualFiguresByName",
    "Witness",
]
