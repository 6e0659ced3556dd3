import { Environment } from "@marcbachmann/cel-js";
import { spend } from "../../budget.ts";
import { DURATION } from "./macros.ts";

/** Go's syntax (time.ParseDuration). Nothing in it can be read in two ways, so a wrong text is refused after one pass over its characters. */
const SYNTAX = /^[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/;
/** The longest that counts in nanoseconds is far shorter. */
const MOST_CHARACTERS = 200;

const parse = new Environment().registerVariable("text", "string").parse("duration(text)");

/** `duration` of a text, which is checked before the library reads it. */
export function registerDurations(env: Environment): void {
  env.registerFunction(`${DURATION}(string): google.protobuf.Duration`, (text: string) => {
    spend(text.length / 10);
    if (text.length > MOST_CHARACTERS || !SYNTAX.test(text))
      throw new Error(`Invalid duration string: '${text.slice(0, MOST_CHARACTERS)}'`);
    return parse({ text }) as object;
  });
}
