import { crc32 } from "node:zlib";

/** Layout of the values. Raise it when an older Mooring could not read what this one writes. */
export const FORMAT = 2;

/** Characters of a checksum in front of a value. */
const DIGITS = 8;

/** Of a value and the key it is stored under: a value that has come to stand under another key is damaged, too. */
export function checksum(key: string | number, text: string | Uint8Array): number {
  return crc32(text, crc32(`${key}\n`));
}

/** The text with its checksum in front. */
export function sealed(text: string, sum: number): string {
  return sum.toString(16).padStart(DIGITS, "0") + text;
}

/** The text of a sealed value; undefined when it is not what was written. */
export function unsealed(key: string | number, value: string): string | undefined {
  const text = value.slice(DIGITS);
  return checksum(key, text) === Number.parseInt(value.slice(0, DIGITS), 16) ? text : undefined;
}

/** The same for bytes; returns the checksum, since sums of them are kept. */
export function sealOf(key: string | number, value: Buffer): { sum: number; whole: boolean } {
  const sum = checksum(key, value.subarray(DIGITS));
  return { sum, whole: sum === Number.parseInt(value.toString("latin1", 0, DIGITS), 16) };
}

/**
 * What all objects together have to be, stored with every transaction: an object that is missing, or an old state that has
 * come back, changes the sum of the checksums.
 */
export interface Seal {
  /** Also written beside it, where older versions read it. */
  format: number;
  revision: number;
  objects: number;
  /** Sum of the checksums of all objects: below 2^53 for two million of them. */
  sum: number;
}

/** The seal as it stands in the store: four numbers in decimal, after their checksum. */
export function encodeSeal({ format, revision, objects, sum }: Seal): string {
  const text = `${format} ${revision} ${objects} ${sum}`;
  return sealed(text, checksum("seal", text));
}

/** Undefined when it is not what was written. */
export function decodeSeal(value: string): Seal | undefined {
  const text = unsealed("seal", value) ?? "";
  if (!/^\d+ \d+ \d+ \d+$/.test(text)) return undefined;
  const [format = 0, revision = 0, objects = 0, sum = 0] = text.split(" ").map(Number);
  return { format, revision, objects, sum };
}
