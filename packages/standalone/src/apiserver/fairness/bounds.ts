/** How many there may be. */
export interface Most {
  /** Of one user. */
  ofOne: number;
  /** Over all users but administrators and nodes. */
  all: number;
}

/** What clients may have open at once. */
export interface ClientBounds {
  /** Watches, followed logs and streams. */
  lasting: Most;
  /**
   * All clients that have not authenticated yet are one user. What lasts has a connection each, and other requests have
   * some more.
   */
  connections: Most;
}

/** The defaults. */
export const CLIENT_BOUNDS: ClientBounds = {
  lasting: { ofOne: 200, all: 800 },
  connections: { ofOne: 256, all: 1_024 },
};
