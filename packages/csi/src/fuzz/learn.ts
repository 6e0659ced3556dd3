import type { DescMessage, Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { Known } from "./values.ts";

/** Ids kept per kind; older ones are forgotten. */
const KEPT = 50;

/** Remembers the ids in a response, so that later requests are about things that exist. */
export function learn(known: Known, desc: DescMessage, response: Message): void {
  visit(known, reflect(desc, response));
}

function visit(known: Known, message: ReflectMessage): void {
  for (const field of message.fields) {
    const value: unknown = message.get(field);
    if (typeof value === "string" && value !== "" && (field.name === "id" || field.name.endsWith("_id"))) {
      remember(known, field.name === "id" ? "volume_id" : field.name, value);
    }
    if (field.fieldKind === "message" && message.isSet(field)) visit(known, value as ReflectMessage);
    if (field.fieldKind === "list" && field.listKind === "message") {
      for (const item of value as Iterable<ReflectMessage>) visit(known, item);
    }
  }
}

function remember(known: Known, name: string, id: string): void {
  const ids = known.ids.get(name) ?? [];
  known.ids.set(name, [...ids.filter((other) => other !== id), id].slice(-KEPT));
}
