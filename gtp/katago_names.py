"""KataGo's names of parameters and configuration keys that have no effect in Keima, each with the reason.

KataGo's own configuration files load, because these keys are accepted; any other key is an error. The names are those
of KataGo 1.17. docs/analysis.md lists the parameters among them.
"""

import re

_LOGS = "Keima writes no log files; --log-level chooses what stderr shows"
_MACHINE = (
    "Keima chooses threads, batches, caches and precision for the machine; see --threads, --max-memory, --backend"
)
_SEED = "random numbers depend on --seed alone"
_TIME = "Keima plans the time of a move by its own rules; see engine/clock.py"
_PASSING = "Keima judges life and death before it passes"
_GAME = "the controller sets the game: board, komi, rules and handicap"
_AVOIDING = "Keima avoids no patterns of earlier games"
_SHARING = "Keima shares a position among orders of moves with the same captures, in whatever area"
_FIXED = "this part of Keima's search is always as in KataGo's default"

_BY_REASON: dict[str, str] = {
    _LOGS: """
        homeDataDir logAllGTPCommunication logAllRequests logAllResponses logConfigContents logDir logDirDated
        logErrorsAndWarnings logFile logSearchInfo logSearchInfoForChosenMove logTimeStamp logToStderr logToStdout
        ogsChatToStderr startupPrintMessageToStderr""",
    _MACHINE: """
        gtpForceMaxNNSize maxBoardSizeForNNBuffer maxBoardXSizeForNNBuffer maxBoardYSizeForNNBuffer minPlayoutsPerThread
        mutexPoolSize nnCacheSizePowerOfTwo nnMaxBatchSize nnMutexPoolSizePowerOfTwo nodeTableShardsPowerOfTwo
        numEigenThreadsPerModel numNNServerThreadsPerModel numSearchThreads numSearchThreadsPerAnalysisThread
        requireMaxBoardSize subtreeValueBiasTableNumShards""",
    _SEED: "forDeterministicTesting nnForcedSymmetry nnRandSeed searchRandSeed",
    _TIME: """
        futileVisitsThreshold obviousMovesPolicyEntropyTolerance obviousMovesPolicySurpriseTolerance
        obviousMovesTimeFactor searchFactorWhenWinning searchFactorWhenWinningThreshold treeReuseCarryOverTimeFactor""",
    _PASSING: """
        alwaysComputePassAliveUnderSuicideRules cleanupBeforePass enableMorePassingHacks enablePassingHacks
        fillDameBeforePass friendlyPass preventCleanupPhase rootEndingBonusPoints rootPruneUselessMoves""",
    _GAME: "assumeMultipleStartingBlackMovesAreHandicap ignoreGTPAndForceKomi resignMinMovesPerBoardArea",
    _AVOIDING: """
        autoAvoidRepeatDir autoAvoidRepeatLambda autoAvoidRepeatMaxPoses autoAvoidRepeatMaxTurnNumber
        autoAvoidRepeatMinTurnNumber autoAvoidRepeatSaveChunkSize autoAvoidRepeatUtility avoidMYTDaggerHack
        avoidSgfPatternAllowedNames avoidSgfPatternDirs avoidSgfPatternLambda avoidSgfPatternMaxFiles
        avoidSgfPatternMinTurnNumber avoidSgfPatternUtility avoidSgf2PatternAllowedNames avoidSgf2PatternDirs
        avoidSgf2PatternLambda avoidSgf2PatternMaxFiles avoidSgf2PatternMinTurnNumber avoidSgf2PatternUtility""",
    _FIXED: "drawEquivalentWinsForWhite graphSearchCatchUpProp",
    _SHARING: "graphSearchRepBound",
}
NO_EFFECT: dict[str, str] = {name: reason for reason, names in _BY_REASON.items() for name in names.split()}
"""Name -> why it has no effect."""
_MUTABLE = """
    analysisWideRootNoise analysisIgnorePreRootHistory genmoveAntiMirror antiMirror humanSLProfile
    allowResignation ponderingEnabled delayMoveScale delayMoveMax alwaysComputePassAliveUnderSuicideRules
    chosenMovePrune chosenMoveSubtract chosenMoveTemperature chosenMoveTemperatureEarly
    chosenMoveTemperatureHalflife chosenMoveTemperatureOnlyBelowProb conservativePass cpuctExploration
    cpuctExplorationBase cpuctExplorationLog cpuctUtilityStdevPrior cpuctUtilityStdevPriorWeight
    cpuctUtilityStdevScale drawEquivalentWinsForWhite dynamicScoreCenterScale dynamicScoreCenterZeroWeight
    dynamicScoreUtilityFactor enableMorePassingHacks enablePassingHacks endgameTurnTimeDecay fillDameBeforePass
    fpuLossProp fpuParentWeight fpuParentWeightByVisitedPolicy fpuParentWeightByVisitedPolicyPow fpuReductionMax
    futileVisitsThreshold graphSearchCatchUpLeakProb graphSearchRepBound humanSLChosenMoveIgnorePass
    humanSLChosenMovePiklLambda humanSLChosenMoveProp humanSLCpuctExploration humanSLCpuctPermanent
    humanSLOppExploreProbWeightful humanSLOppExploreProbWeightless humanSLPlaExploreProbWeightful
    humanSLPlaExploreProbWeightless humanSLRootExploreProbWeightful humanSLRootExploreProbWeightless
    ignoreAllHistory ignorePreRootHistory lagBuffer lcbStdevs maxPlayouts maxPlayoutsPondering maxTime
    maxTimePondering maxVisits maxVisitsPondering midgameTimeFactor midgameTurnPeakTime minPlayoutsPerThread
    minVisitPropForLCB nnPolicyTemperature noResultUtilityForWhite noisePruneUtilityScale noisePruningCap
    numSearchThreads numVirtualLossesPerThread obviousMovesPolicyEntropyTolerance
    obviousMovesPolicySurpriseTolerance obviousMovesTimeFactor overallocateTimeFactor playoutDoublingAdvantage
    playoutDoublingAdvantagePla policyOptimism rootDesiredPerChildVisitsCoeff
    rootDirichletNoiseTotalConcentration rootDirichletNoiseWeight rootEndingBonusPoints rootFpuLossProp
    rootFpuReductionMax rootNoiseEnabled rootNumSymmetriesToSample rootPolicyOptimism rootPolicyTemperature
    rootPolicyTemperatureEarly rootPruneUselessMoves rootSymmetryPruning searchFactorAfterOnePass
    searchFactorAfterTwoPass staticScoreUtilityFactor subtreeValueBiasFactor subtreeValueBiasFreeProp
    subtreeValueBiasTableNumShards subtreeValueBiasWeightExponent treeReuseCarryOverTimeFactor uncertaintyCoeff
    uncertaintyExponent uncertaintyMaxWeight useGraphSearch useLcbForSelection useNoisePruning useNonBuggyLcb
    useUncertainty valueWeightExponent wideRootNoise winLossUtilityFactor
"""
MUTABLE = tuple(_MUTABLE.split())
"""The parameters of KataGo's `kata-list-params`, in its order."""
_DEVICE = re.compile(
    r"(cuda|eigen|metal|onnx|opencl|trt)[A-Z]\w*|(gpuToUse|deviceToUse)(Model[0-9]+)?(Thread[0-9]+)?|useFP16|useNHWC"
    r"|inputsUseNHWC"
)
_DEVICES = "Keima computes networks on the processor, or on the device that --backend torch finds"


def why_no_effect(name: str) -> str | None:
    """Return why a name of KataGo's has no effect here, None if it has one or is not KataGo's."""
    return _DEVICES if _DEVICE.fullmatch(name) else NO_EFFECT.get(name)
