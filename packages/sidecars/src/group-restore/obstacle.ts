/** What stands in the way; `wait`: it goes away by itself. */
export interface Obstacle {
  kind: "wait" | "fail";
  /** A condition's reason. */
  reason: string;
  message: string;
}
