export { MUTATIONS, type Mutation } from "./mutate.ts";
export { type FuzzFinding, type FuzzOptions, type FuzzReport, fuzz } from "./run.ts";
