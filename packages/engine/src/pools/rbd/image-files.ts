/**
 * How an image of the cluster becomes a file of this node, for as long as it is open here: a loop device needs nothing else.
 * What is open stays open when this process ends, and is found again by the path.
 */
export interface ImageFiles {
  /** Also when whatever shows it has ended. */
  isOpen(path: string): Promise<boolean>;
  /** Shows the image of this name at the path. One that is shown already stays as it is. */
  open(name: string, path: string): Promise<void>;
  /** Larger, also for whoever has a device of it: that has to be refreshed. In bytes. */
  resize(path: string, size: number): Promise<void>;
  /** The address of the client that has it open here; undefined: only the cluster knows. */
  client(path: string): Promise<string | undefined>;
  /** Nobody has a device of it. What is not open is fine. */
  close(path: string): Promise<void>;
}
