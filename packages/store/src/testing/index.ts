/** What tests of all packages share. Needs the development dependencies of this repository. */
export { bundleProgram } from "./bundle-program.ts";
