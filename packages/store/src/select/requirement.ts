/** One condition on labels; all of a selector's conditions must match. */
export interface LabelRequirement {
  key: string;
  /** Gt and Lt compare whole numbers; only the string form has them. */
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
  values: string[];
}
