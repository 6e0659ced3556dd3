/** One line of a scrape. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

interface Family {
  type: string;
  help: string;
  samples: Sample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|(?=}))/;
const TYPES = new Set(["counter", "gauge", "histogram"]);

/**
 * Reads the text format of Prometheus, 0.0.4, and throws for what a server of it would not take, or `promtool check metrics`
 * would complain of: lines without HELP and TYPE before them, families in pieces, the same labels twice, names whose
 * ending does not fit their type, buckets that do not add up.
 */
export function parseScrape(text: string): Map<string, Family> {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const families = new Map<string, Family>();
  let current: [name: string, family: Family] | undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    const help = /^# HELP (\S+) (.+)$/.exec(line);
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (help !== null) {
      const [, name = "", words = ""] = help;
      if (families.has(name)) throw new Error(`${name} comes twice`);
      current = [name, { type: "", help: words, samples: [] }];
      families.set(...current);
    } else if (type !== null) {
      if (current === undefined || current[0] !== type[1] || !TYPES.has(type[2] ?? ""))
        throw new Error(`out of place: ${line}`);
      current[1].type = type[2] ?? "";
    } else {
      if (current === undefined) throw new Error(`no family: ${line}`);
      current[1].samples.push(sampleOf(line, current[0], current[1].type));
    }
  }
  for (const [name, family] of families) check(name, family);
  return families;
}

function sampleOf(line: string, family: string, type: string): Sample {
  const name = NAME.exec(line)?.[0] ?? "";
  const suffix = name.startsWith(family) ? name.slice(family.length) : undefined;
  const suffixes = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
  if (suffix === undefined || !suffixes.includes(suffix)) throw new Error(`not of ${family}: ${line}`);
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith("{")) {
    rest = rest.slice(1);
    for (let found = LABEL.exec(rest); found !== null; found = LABEL.exec(rest)) {
      const [all, label = "", value = ""] = found;
      if (label in labels) throw new Error(`label ${label} comes twice: ${line}`);
      labels[label] = value;
      rest = rest.slice(all.length);
    }
    if (!rest.startsWith("}")) throw new Error(`labels that cannot be read: ${line}`);
    rest = rest.slice(1);
  }
  const number = /^ (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/.exec(rest)?.[1];
  if (number === undefined) throw new Error(`no value: ${line}`);
  return { name, labels, value: Number(number.replace("Inf", "Infinity")) };
}

function check(name: string, { type, samples }: Family): void {
  if (type === "") throw new Error(`${name} has no type`);
  if (samples.length === 0) throw new Error(`${name} has no samples`);
  if ((type === "counter") !== name.endsWith("_total")) throw new Error(`${name} is called like no ${type}`);
  if (/_(?:ms|milliseconds|kb|kilobytes|mb)(?:_|$)/.test(name)) throw new Error(`${name} is in no base unit`);
  const keys = samples.map((sample) => JSON.stringify([sample.name, Object.entries(sample.labels).sort()]));
  if (new Set(keys).size !== keys.length) throw new Error(`${name} has the same labels twice`);
  if (type === "histogram") checkBuckets(name, samples);
}

function checkBuckets(name: string, samples: readonly Sample[]): void {
  const seriesOf = ({ labels: { le: _, ...labels } }: Sample) => JSON.stringify(labels);
  for (const series of new Set(samples.map(seriesOf))) {
    const own = samples.filter((sample) => seriesOf(sample) === series);
    const counts = own.filter((sample) => sample.name === `${name}_bucket`).map(({ value }) => value);
    const total = own.find((sample) => sample.name === `${name}_count`)?.value;
    const isSorted = counts.every((count, index) => count >= (counts[index - 1] ?? 0));
    if (!isSorted || counts.at(-1) !== total)
      throw new Error(`the buckets of ${name} do not add up: ${series}`);
  }
}
