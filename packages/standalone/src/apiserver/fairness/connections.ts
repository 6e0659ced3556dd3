import type { Socket } from "node:net";
import { nodeOf } from "../auth/node-name.ts";
import type { User } from "../http/call.ts";
import type { Most } from "./bounds.ts";
import { type Holder, Places } from "./places.ts";

interface Connection extends Holder {
  /** Requests that are under way on it. */
  busy: number;
  /** Absent: no user's bound counts it. */
  places?: Places | undefined;
}

/** One request's use of its connection. */
export interface Use {
  /** Its client is this one. False: who has too many connections, and is using all of them. */
  by(user: User): boolean;
  end(): void;
}

/**
 * Counts connections. No client is kept from connecting: beyond the bound the oldest connection on which nothing is under
 * way is closed, of the user who has the most; where something is under way on each, the oldest of theirs. So a place for
 * one who says next that they are an administrator or a node is never taken by connections that wait. Those two are not
 * among the rest then, and lose none to others.
 */
export class Connections {
  readonly #users: Places;
  readonly #nodes: Places;
  /** By the address and the port that they come from. */
  readonly #open = new Map<string, Connection>();

  constructor(most: Most) {
    this.#users = new Places(most);
    this.#nodes = new Places({ ...most, all: Number.POSITIVE_INFINITY });
  }

  /** A client has connected; what is encrypted on it is not known yet. */
  opened(socket: Socket): void {
    const address = addressOf(socket);
    const connection: Connection = {
      ...{ user: "", busy: 0, places: this.#users },
      mayEnd: () => connection.busy === 0,
      end: () => socket.destroy(),
    };
    this.#open.set(address, connection);
    socket.once("close", () => {
      if (this.#open.get(address) === connection) this.#open.delete(address);
      connection.places?.leave(connection);
    });
    this.#users.add(connection);
    if (!this.#users.isOverfull || this.#users.endOneOfMost(connection, { busy: true })) return;
    connection.end();
  }

  /** A request has begun on it. */
  use(socket: Socket): Use {
    const connection = this.#open.get(addressOf(socket));
    if (connection === undefined) return { by: () => true, end: () => {} };
    connection.busy += 1;
    let ended = false;
    return {
      by: (user) => this.#belongsTo(connection, user),
      end: () => {
        if (!ended) connection.busy -= 1;
        ended = true;
      },
    };
  }

  #belongsTo(connection: Connection, user: User): boolean {
    const places = this.#placesOf(user);
    if (connection.user === user.username && connection.places === places) return true;
    connection.places?.leave(connection);
    connection.user = user.username;
    connection.places = places;
    if (places === undefined) return true;
    places.add(connection);
    return !places.hasTooMany(user.username) || places.endOneOf(user.username, connection);
  }

  #placesOf(user: User): Places | undefined {
    if (user.groups.includes("system:masters")) return undefined;
    return nodeOf(user) === undefined ? this.#users : this.#nodes;
  }
}

const addressOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
