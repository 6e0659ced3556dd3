import { isIP, isIPv4, isIPv6 } from "node:net";
import { isDate, isDateTime } from "./time.ts";

const DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS_SUBDOMAIN = `${DNS_LABEL}(\\.${DNS_LABEL})*`;
const LABEL_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const DNS_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";

interface NameRule {
  pattern: RegExp;
  max: number;
  message: string;
}

function rule(source: string, max: number, text: string, examples: string): NameRule {
  const message = `${text} (e.g. ${examples}, regex used for validation is '${source}')`;
  return { pattern: new RegExp(`^(?:${source})$`), max, message };
}

const RULES = {
  label: rule(
    DNS_LABEL,
    63,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
    "'my-name',  or '123-abc'",
  ),
  subdomain: rule(
    DNS_SUBDOMAIN,
    253,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    "'example.com'",
  ),
  label1035: rule(
    DNS_1035,
    63,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
    "'my-name',  or 'abc-123'",
  ),
  labelValue: rule(
    LABEL_VALUE,
    63,
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    "'MyValue',  or 'my_value',  or '12345'",
  ),
  qualifiedPart: rule(
    QUALIFIED,
    63,
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    "'MyName',  or 'my.name',  or '123-abc'",
  ),
} as const;

/** What is wrong with `text`, one line per problem; empty when it obeys the rule. */
export function nameProblems(kind: keyof typeof RULES, text: string): string[] {
  const { pattern, max, message } = RULES[kind];
  const problems: string[] = [];
  if (text.length > max) problems.push(`must be no more than ${max} bytes`);
  if (!pattern.test(text)) problems.push(message);
  return problems;
}

/** Label and annotation keys: `[prefix/]name`. */
export function qualifiedNameProblems(text: string): string[] {
  const parts = text.split("/");
  const name = parts.at(-1) ?? "";
  if (parts.length > 2) {
    return [
      `a qualified name ${RULES.qualifiedPart.message.slice("name part ".length)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const problems: string[] = [];
  if (parts.length === 2) {
    if (parts[0] === "") problems.push("prefix part must be non-empty");
    else problems.push(...nameProblems("subdomain", parts[0] ?? "").map((p) => `prefix part ${p}`));
  }
  if (name === "") problems.push("name part must be non-empty");
  problems.push(
    ...nameProblems("qualifiedPart", name).map((p) => (p.startsWith("name part") ? p : `name part ${p}`)),
  );
  return problems;
}

const GO_DURATION =
  /^[+-]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))*)$/;
/** `version` and `variant`: the first digits of the third and the fourth group. */
function uuid(version: string, variant: string): (text: string) => boolean {
  const group = "[0-9a-f]{4}-?";
  const pattern = `^[0-9a-f]{8}-?${group}${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`;
  const compiled = new RegExp(pattern, "i");
  return (text) => compiled.test(text);
}
const ANY = "[0-9a-f]";
const RFC_4122 = "[89ab]";

function isUri(text: string): boolean {
  return URL.canParse(text) || text.startsWith("/");
}
function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  return isIPv4(address) ? Number(bits) <= 32 : isIPv6(address) && Number(bits) <= 128;
}

/** Formats that an API server checks; every other format is only documentation. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  "date-time": isDateTime,
  datetime: isDateTime,
  date: isDate,
  duration: (t) => GO_DURATION.test(t),
  // Groups of four are counted, not matched: an engine that goes back keeps each group, of megabytes.
  byte: (t) => t.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(t),
  ipv4: isIPv4,
  ipv6: isIPv6,
  ip: (t) => isIP(t) !== 0,
  cidr: isCidr,
  uuid: uuid(ANY, ANY),
  uuid3: uuid("3", ANY),
  uuid4: uuid("4", RFC_4122),
  uuid5: uuid("5", RFC_4122),
  uri: isUri,
  hostname: (t) =>
    t.length <= 255 &&
    /^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*\.?$/.test(t),
  email: (t) => /^[^\s@]+@[^\s@]+$/.test(t),
  mac: (t) => /^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$/.test(t),
  isbn: (t) => /^(?:\d{9}[\dXx]|\d{13})$/.test(t.replaceAll("-", "")),
  hexcolor: (t) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(t),
  "k8s-short-name": (t) => nameProblems("label", t).length === 0,
  "k8s-long-name": (t) => nameProblems("subdomain", t).length === 0,
};

/** True when `text` has the format, or the format is not one that is checked. */
export function hasFormat(format: string, text: string): boolean {
  return Object.hasOwn(FORMATS, format) ? FORMATS[format]?.(text) === true : true;
}
