export { objectChecks } from "./doctor/object-checks.ts";
export { contextOf, explainerOf } from "./why/kinds.ts";
export { renderFinding } from "./why/render.ts";
