export { builtinKinds, registerBuiltins } from "./register.ts";
