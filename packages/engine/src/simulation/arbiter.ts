import type { NodeAgent } from "../api/node-agent.ts";
import type { Volume } from "../api/volume.ts";
import type { decide } from "../cluster/arbiter/decide.ts";
import type { ArbiterView } from "../cluster/arbiter/view.ts";
import { type ArbiterWrite, nextWrite } from "../cluster/arbiter/writes.ts";
import type { SimVolume } from "./model.ts";
import { checkPlacement } from "./safety.ts";
import type { World } from "./world.ts";

interface Planned {
  value: ArbiterWrite;
  version: number;
  /** Of the volume. */
  volumeVersion: number;
  seen: ArbiterView;
}

/** The arbiter between its reads and writes: anything may happen before the next step, also its end. */
export class SimArbiter {
  readonly #world: World;
  readonly #decide: typeof decide;
  #volume: { value: SimVolume; version: number } | undefined;
  #write: Planned | undefined;
  /** As the informer has it; it may lag behind the store by any time. */
  #nodes: Map<string, NodeAgent>;

  constructor(world: World, by: typeof decide) {
    this.#world = world;
    this.#decide = by;
    this.#nodes = world.agents();
  }

  sync(): void {
    this.#nodes = this.#world.agents();
  }

  restart(): void {
    this.#volume = undefined;
    this.#write = undefined;
    this.sync();
  }

  /** Reads the volume, or reads the rest and decides, or writes. True when there was something to write. */
  step(): boolean {
    const world = this.#world;
    if (this.#write !== undefined) return this.#commit(this.#write);
    if (this.#volume === undefined) {
      this.#volume = { value: world.volume, version: world.volumeVersion };
      world.log("the arbiter reads the volume");
      return true;
    }
    const seen = world.view(this.#nodes, this.#volume.value);
    const value = nextWrite(seen, this.#decide(seen));
    if (value === undefined) {
      this.#volume = undefined;
      world.log("the arbiter reads the tickets and finds nothing to do");
      return false;
    }
    const version = value.do === "place-volume" ? this.#volume.version : world.attachmentVersion;
    this.#write = { value, version, volumeVersion: this.#volume.version, seen };
    world.log(`the arbiter reads the tickets and is about to ${nameOf(value)}`);
    return true;
  }

  #commit(planned: Planned): boolean {
    const { value } = planned;
    const world = this.#world;
    this.#write = undefined;
    this.#volume = undefined;
    const written = this.#put(planned);
    world.log(
      `the arbiter writes ${nameOf(value)}${written ? described(value) : ", which is refused: too old"}`,
    );
    return true;
  }

  #put({ value, version, volumeVersion, seen }: Planned): boolean {
    const world = this.#world;
    if (value.do === "edit-tickets") return world.writeTickets(value.attachment.spec, version);
    if (value.do === "place-volume") return this.#place(value.volume, version, seen);
    // Two requests, of which either may be refused.
    const placed = value.volume !== undefined && this.#place(value.volume, volumeVersion, seen);
    return world.writeStatus(value.attachment.status, version) || placed;
  }

  #place(volume: Volume, version: number, seen: ArbiterView): boolean {
    const world = this.#world;
    if (version !== world.volumeVersion) return false;
    checkPlacement(world.volume, volume, seen);
    if (world.volume.spec.nodeID !== volume.spec.nodeID) world.moves += 1;
    return world.writeVolume({ ...world.volume, spec: volume.spec }, version);
  }
}

function nameOf(write: ArbiterWrite): string {
  const both = write.do === "record-results" && write.volume !== undefined;
  return both ? "record-results and place-volume" : write.do;
}

function described(write: ArbiterWrite): string {
  if (write.do === "place-volume") {
    const { nodeID, migrationNodeID = "" } = write.volume.spec;
    return `: node "${nodeID}"${migrationNodeID === "" ? "" : `, moving to "${migrationNodeID}"`}`;
  }
  if (write.do === "edit-tickets") return "";
  const statuses = Object.values(write.attachment.status?.attachmentTicketStatuses ?? {});
  return `: ${statuses.map((s) => `${s.id} ${s.conditions[0]?.reason}`).join(", ")}`;
}
