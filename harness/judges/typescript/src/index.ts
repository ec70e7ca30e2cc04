export type { Compared } from "./claims.js";
export type { Json, JsonObject } from "./json.js";
export { type Answer, type Judgement, judge, type Raised } from "./judge.js";
export { type KnownFailure, type KnownFailures, readKnownFailures } from "./known.js";
export type { Capability, Case, Check, Claims, DeliverySet, Level, Suite, Verdict } from "./model.js";
export type { ContentBlock, Outcome } from "./outcome.js";
export { type Adapter, type Options, type Run, runTrial, type TestFunction, testConformance } from "./run.js";
export { isSelected, listTrials, loadSuite, type Selection, type Trial } from "./suite.js";
