export { contextOf, explainerOf } from "./why/kinds.ts";
export { renderFinding } from "./why/render.ts";
