import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../object/meta.ts";
import { groupResource, keyOf, type Resource } from "../../object/resource.ts";
import { isNewerVersion } from "../../object/version.ts";
import type { ChangeListener, Informer } from "../informer.ts";
import type { WatchedInformer } from "./contract.ts";
import {
  type IndexEntry,
  type IndexRead,
  type Notes,
  type Projection,
  projected,
  type Seen,
} from "./reader.ts";

/** What one read of a key has read. */
export interface Pass {
  readonly key: string;
  readonly notes: Notes;
  /** Something of it has changed since. */
  stale: boolean;
  /** All that was found is that nothing is there. */
  readonly foundNothing: boolean;
  /** It read this object itself. */
  sawObject(informer: WatchedInformer, object: string): boolean;
  forget(): void;
}

/** A read of an object from the store, and what came of it before there was a result. */
interface LiveRead {
  of: Projection | undefined;
  seen: Seen;
  meanwhile: (KubeObject | undefined)[];
}

type Group = Map<Projection | undefined, Set<OpenPass>>;

/** One followed kind: who read what of it. */
interface Followed {
  readonly informer: Informer<KubeObject>;
  /** By `o:` object, `i:` index and value, or `l:` the list. */
  readonly groups: Map<string, Group>;
  /** Index names in use. */
  readonly indexes: Map<string, number>;
  readonly live: Map<string, Map<OpenPass, LiveRead[]>>;
  readonly liveLists: Map<OpenPass, ((object: KubeObject) => boolean)[]>;
}

const LIST = "l:";
const NOBODY: ReadonlyMap<OpenPass, LiveRead[]> = new Map();

/** Which keys have read what, found by what has changed: an event costs a few look-ups, however many keys there are. */
export class ReadTracker {
  readonly #name: string;
  readonly wake: (pass: Pass) => void;
  readonly #followed = new Map<WatchedInformer, Followed>();
  readonly #byResource = new Map<string, Followed[]>();
  readonly #topics = new Map<string, Set<OpenPass>>();
  readonly #unfollow: (() => void)[] = [];

  constructor(name: string, informers: Iterable<WatchedInformer>, wake: (pass: Pass) => void) {
    this.#name = name;
    this.wake = wake;
    for (const informer of new Set(informers)) this.#follow(informer);
  }

  begin(key: string): Pass {
    return new OpenPass(key, this);
  }

  changed(topic: string): void {
    for (const pass of this.#topics.get(topic) ?? []) this.wake(pass);
  }

  stop(): void {
    for (const unfollow of this.#unfollow.splice(0)) unfollow();
  }

  followed(informer: WatchedInformer): Followed {
    const known = this.#followed.get(informer);
    if (known !== undefined) return known;
    throw new TypeError(
      `${this.#name} reads ${informer.resource.plural} from an informer that it does not watch`,
    );
  }

  followedKind(resource: Resource): readonly Followed[] {
    const known = this.#byResource.get(groupResource(resource));
    if (known !== undefined) return known;
    throw new TypeError(`${this.#name} reads ${resource.plural}, which it does not watch`);
  }

  /** Returns how to take it back. */
  addTopic(topic: string, pass: OpenPass): () => void {
    const passes = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, passes.add(pass));
    return () => {
      passes.delete(pass);
      if (passes.size === 0 && this.#topics.get(topic) === passes) this.#topics.delete(topic);
    };
  }

  #follow(watched: WatchedInformer): void {
    // Sound: what comes from an informer is only ever compared with objects of the same informer.
    const informer = watched as unknown as Informer<KubeObject>;
    const followed: Followed = {
      ...{ informer, groups: new Map(), indexes: new Map(), live: new Map(), liveLists: new Map() },
    };
    this.#followed.set(watched, followed);
    const kind = groupResource(informer.resource);
    this.#byResource.set(kind, [...(this.#byResource.get(kind) ?? []), followed]);
    const listener: ChangeListener<KubeObject> = (old, current) => this.#changed(followed, old, current);
    this.#unfollow.push(informer.onChange(listener));
  }

  #changed(followed: Followed, old: KubeObject | undefined, current: KubeObject | undefined): void {
    const object = current ?? old;
    if (object === undefined || !isRead(followed)) return;
    const key = keyOf(object);
    let changes: Map<Projection, boolean> | undefined;
    const matters = (of: Projection | undefined): boolean => {
      if (of === undefined || old === undefined || current === undefined) return true;
      const known = changes?.get(of);
      if (known !== undefined) return known;
      const differs = !isDeepStrictEqual(projected(of, old), projected(of, current));
      changes ??= new Map();
      changes.set(of, differs);
      return differs;
    };
    this.#wakeGroup(followed.groups.get(objectId(key)), matters);
    this.#wakeGroup(followed.groups.get(LIST), matters);
    for (const name of followed.indexes.keys()) {
      const before = new Set(valuesOf(followed, name, old));
      const after = new Set(valuesOf(followed, name, current));
      for (const value of before.size === 0 ? after : new Set([...before, ...after])) {
        const [id, isIn] = [indexId(name, value), after.has(value)];
        if (!followed.groups.has(id)) continue;
        const moved = before.has(value) !== isIn;
        const news = (pass: OpenPass) => !pass.knows(followed, id, { key, current, isIn });
        this.#wakeGroup(followed.groups.get(id), moved ? () => true : matters, news);
      }
    }
    for (const [pass, reads] of followed.live.get(key) ?? NOBODY) {
      for (const read of reads) {
        if (read.seen === "asked") read.meanwhile.push(current);
        else if (!isKnown(read, current)) this.wake(pass);
      }
    }
    for (const [pass, filters] of followed.liveLists) {
      const matched = filters.some(
        (matches) => (old !== undefined && matches(old)) || (current !== undefined && matches(current)),
      );
      if (matched) this.wake(pass);
    }
  }

  #wakeGroup(
    group: Group | undefined,
    matters: (of: Projection | undefined) => boolean,
    isNews: (pass: OpenPass) => boolean = () => true,
  ): void {
    if (group === undefined) return;
    for (const [of, passes] of group) {
      if (!matters(of)) continue;
      for (const pass of passes) if (of !== undefined || isNews(pass)) this.wake(pass);
    }
  }
}

/** The notes of a read, filed under what was read; taken out again when a newer read of the key has ended. */
class OpenPass implements Pass, Notes {
  readonly key: string;
  stale = false;
  readonly #tracker: ReadTracker;
  readonly #undo: (() => void)[] = [];
  readonly #objects = new Set<string>();
  /** Versions by key of what was in an index, by its id; null: read twice, with different results. */
  readonly #indexed = new Map<string, ReadonlyMap<string, string> | null>();
  #found = false;

  constructor(key: string, tracker: ReadTracker) {
    this.key = key;
    this.#tracker = tracker;
  }

  get notes(): Notes {
    return this;
  }

  get foundNothing(): boolean {
    return !this.#found;
  }

  sawObject({ resource }: WatchedInformer, object: string): boolean {
    return this.#objects.has(`${groupResource(resource)} ${object}`);
  }

  object(informer: Informer<KubeObject>, key: string, of: Projection | undefined): void {
    if (informer.get(key) !== undefined) this.#found = true;
    this.#objects.add(`${groupResource(informer.resource)} ${key}`);
    this.#file(this.#tracker.followed(informer), objectId(key), of);
  }

  index(informer: Informer<KubeObject>, { name, value }: IndexEntry, { ahead, of }: IndexRead): void {
    if (informer.byIndex(name, value).length > 0) this.#found = true;
    const followed = this.#tracker.followed(informer);
    const id = indexId(name, value);
    if (ahead !== undefined) this.#noteIndexed(followed, id, ahead);
    if (!this.#file(followed, id, of)) return;
    followed.indexes.set(name, (followed.indexes.get(name) ?? 0) + 1);
    this.#undo.push(() => {
      const left = (followed.indexes.get(name) ?? 1) - 1;
      if (left > 0) followed.indexes.set(name, left);
      else followed.indexes.delete(name);
    });
  }

  #noteIndexed({ informer }: Followed, id: string, objects: readonly KubeObject[]): void {
    const kind = groupResource(informer.resource);
    const seen = new Map<string, string>();
    for (const object of objects) {
      seen.set(keyOf(object), object.metadata.resourceVersion ?? "");
      this.#objects.add(`${kind} ${keyOf(object)}`);
    }
    const before = this.#indexed.get(`${kind} ${id}`);
    const another = before !== undefined && !isDeepStrictEqual(before, seen);
    this.#indexed.set(`${kind} ${id}`, another ? null : seen);
  }

  /** The read has seen the index as it is after the change of this object, or later. */
  knows(
    { informer }: Followed,
    id: string,
    { key, current, isIn }: { key: string; current: KubeObject | undefined; isIn: boolean },
  ): boolean {
    const seen = this.#indexed.get(`${groupResource(informer.resource)} ${id}`);
    if (seen === undefined || seen === null) return false;
    const version = seen.get(key);
    if (version === undefined) return !isIn;
    return current !== undefined && isNoNewer(current, version);
  }

  list(informer: Informer<KubeObject>, of: Projection | undefined): void {
    this.#found = true;
    this.#file(this.#tracker.followed(informer), LIST, of);
  }

  live(resource: Resource, key: string, seen: Seen, of?: Projection): void {
    if (typeof seen !== "string" || seen === "unknown") this.#found = true;
    this.#objects.add(`${groupResource(resource)} ${key}`);
    for (const { live } of this.#tracker.followedKind(resource)) {
      const passes = live.get(key) ?? new Map<OpenPass, LiveRead[]>();
      live.set(key, passes);
      const reads = passes.get(this);
      const read = reads?.find((each) => each.of === of);
      if (read !== undefined) this.#settle(read, seen);
      else if (reads !== undefined) reads.push({ of, seen, meanwhile: [] });
      else {
        passes.set(this, [{ of, seen, meanwhile: [] }]);
        this.#undo.push(() => {
          passes.delete(this);
          if (passes.size === 0 && live.get(key) === passes) live.delete(key);
        });
      }
    }
  }

  #settle(read: LiveRead, seen: Seen): void {
    if (seen === "asked") return;
    // Read again with another result: the decision may rest on the first.
    const another = read.seen !== "asked" && !isDeepStrictEqual(read.seen, seen);
    read.seen = another ? "unknown" : seen;
    if (read.meanwhile.splice(0).some((current) => !isKnown(read, current))) this.#tracker.wake(this);
  }

  liveList(resource: Resource, matches: (object: KubeObject) => boolean): void {
    this.#found = true;
    for (const { liveLists } of this.#tracker.followedKind(resource)) {
      const filters = liveLists.get(this);
      if (filters === undefined) this.#undo.push(() => liveLists.delete(this));
      liveLists.set(this, [...(filters ?? []), matches]);
    }
  }

  topic(topic: string): void {
    this.#found = true;
    this.#undo.push(this.#tracker.addTopic(topic, this));
  }

  forget(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  /** False: noted before. */
  #file({ groups }: Followed, id: string, of: Projection | undefined): boolean {
    const group: Group = groups.get(id) ?? new Map();
    groups.set(id, group);
    const passes = group.get(of) ?? new Set();
    group.set(of, passes);
    if (passes.has(this)) return false;
    passes.add(this);
    this.#undo.push(() => {
      passes.delete(this);
      if (passes.size === 0 && group.get(of) === passes) group.delete(of);
      if (group.size === 0 && groups.get(id) === group) groups.delete(id);
    });
    return true;
  }
}

/** Most controllers have read nothing of a kind while others work on it: each change of it then costs them nothing. */
const isRead = ({ groups, live, liveLists }: Followed): boolean =>
  groups.size > 0 || live.size > 0 || liveLists.size > 0;

const objectId = (key: string): string => `o:${key}`;
const indexId = (name: string, value: string): string => `i:${name}\0${value}`;

function valuesOf({ informer }: Followed, name: string, object: KubeObject | undefined): string[] {
  return object === undefined ? [] : (informer.indexers[name]?.(object) ?? []);
}

/** The read has seen this already, or something newer. */
function isKnown({ of, seen }: LiveRead, current: KubeObject | undefined): boolean {
  if (seen === "unknown" || seen === "asked") return false;
  if (current === undefined || seen === "absent") return current === undefined && seen === "absent";
  if ("value" in seen) return isDeepStrictEqual(seen.value, of?.(current));
  return isNoNewer(current, seen.version);
}

function isNoNewer({ metadata: { resourceVersion = "" } }: KubeObject, than: string): boolean {
  return resourceVersion === than || isNewerVersion(than, resourceVersion) === true;
}
