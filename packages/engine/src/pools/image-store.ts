import { randomUUID } from "node:crypto";
import type { Stats } from "node:fs";
import { rm } from "node:fs/promises";
import { fileKind } from "@mooring/store";
import { EngineError } from "../errors.ts";
import type { MakeOptions, ReplaceOptions } from "./backend.ts";
import type { Image } from "./image.ts";

/**
 * How one kind of pool keeps images. Callers have checked ids and budget and make sure that
 * one image is worked on once at a time.
 */
export interface ImageStore {
  /** Removes what a killed process left half-made. */
  sweep(): Promise<void>;
  /** Without those that are damaged: theirs alone is the fault, and `find` reports it to who has such an image. */
  list(): Promise<Image[]>;
  find(id: string): Promise<Image | undefined>;
  madeAt(image: Image): Promise<Date>;
  create(id: string, size: number, options?: MakeOptions): Promise<Image>;
  clone(source: Image, id: string, size: number, options?: MakeOptions): Promise<Image>;
  /** Like clone, but in the place of an image that is there, and thick when that is. */
  replace(source: Image, id: string, size: number, options?: ReplaceOptions): Promise<Image>;
  /** See `PoolBackend.requestOf`. */
  requestOf(id: string): Promise<string | undefined>;
  grow(image: Image, size: number): Promise<Image>;
  /** See `PoolBackend.renew`. */
  renew(image: Image, clients?: readonly string[]): Promise<void>;
  remove(id: string): Promise<void>;
}

/** Names with these beginnings are work in progress; no image has one. */
export const TEMPORARY = ".new-";
/**
 * Before the name of an image's folder while it is being removed: a kill leaves something that `sweep` recognises.
 */
export const GOING = ".gone-";
/** A whole folder that is about to take its image's place; `<prefix><id>`. */
export const NEXT = ".next-";

/**
 * New each time: a copy that a killed process has left running must not write into ours. `maker` distinguishes what
 * several nodes make in one folder.
 */
export function temporaryName(id: string, maker = ""): string {
  return `${TEMPORARY}${maker}${id}-${randomUUID().slice(0, 8)}`;
}

/** Something else is where a file of an image was. */
export function notRegular(path: string, info: Stats): EngineError {
  return new EngineError("DATA_LOSS", `${path} is ${fileKind(info)}, not a regular file`, {
    hint: "move it away, and put the image back from a copy, or restore it from a snapshot",
  });
}

/** For `catch` of one image among many. */
export function unlessDamaged(error: unknown): undefined {
  if (!(error instanceof EngineError && error.code === "DATA_LOSS")) throw error;
}

/** Failed work takes its temporary file or folder along. */
export async function orRemove<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await rm(path, { recursive: true, force: true });
    throw error;
  }
}
