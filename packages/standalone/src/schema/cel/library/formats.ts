import { type Environment, Optional } from "@marcbachmann/cel-js";
import { hasFormat, nameProblems, qualifiedNameProblems } from "../../formats.ts";

class Format {
  readonly check: (text: string) => string[];
  constructor(check: (text: string) => string[]) {
    this.check = check;
  }
}

const ofFormat = (format: string, text: string) => (value: string) =>
  hasFormat(format, value) ? [] : [text];

/** Named formats; `validate` gives the problems, or nothing when there are none. */
const NAMED: Readonly<Record<string, (text: string) => string[]>> = {
  dns1123Label: (text) => nameProblems("label", text),
  dns1123Subdomain: (text) => nameProblems("subdomain", text),
  dns1035Label: (text) => nameProblems("label1035", text),
  qualifiedName: qualifiedNameProblems,
  dns1123LabelPrefix: (text) => nameProblems("label", text.replace(/-$/, "")),
  dns1123SubdomainPrefix: (text) => nameProblems("subdomain", text.replace(/-$/, "")),
  dns1035LabelPrefix: (text) => nameProblems("label1035", text.replace(/-$/, "")),
  labelValue: (text) => nameProblems("labelValue", text),
  uri: ofFormat("uri", "invalid URI"),
  uuid: ofFormat("uuid", "does not match the UUID format"),
  byte: ofFormat("byte", "invalid base64"),
  date: ofFormat("date", "invalid date"),
  datetime: ofFormat("datetime", "invalid datetime"),
};

/** Kubernetes' format library: `!format.dns1123Label().validate(self).hasValue()`. */
export function registerFormats(env: Environment): void {
  class FormatNamespace {}
  env
    .registerType("Format", Format)
    .registerType("FormatNamespace", FormatNamespace)
    .registerConstant("format", "FormatNamespace", new FormatNamespace())
    .registerFunction("FormatNamespace.named(string): optional<Format>", (_: unknown, name: string) => {
      const check = Object.hasOwn(NAMED, name) ? NAMED[name] : undefined;
      return check === undefined ? Optional.none() : Optional.of(new Format(check));
    })
    .registerFunction("Format.validate(string): dyn", (format: Format, text: string) => {
      const problems = format.check(text);
      return problems.length === 0 ? Optional.none() : Optional.of(problems);
    });
  for (const [name, check] of Object.entries(NAMED)) {
    const format = new Format(check);
    env.registerFunction(`FormatNamespace.${name}(): Format`, () => format);
  }
}
