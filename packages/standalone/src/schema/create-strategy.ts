import type { ResourceStrategy } from "@mooring/store";
import { admitCreate, admitUpdate, type KindSchema } from "./strategy.ts";

/** The hooks of one kind as a `LocalStore` calls them. */
export function createStrategy(kind: KindSchema): ResourceStrategy {
  const { rules } = kind;
  return {
    create: (object) => admitCreate(kind, object),
    update: (next, old, context) => admitUpdate(kind, next, old, context.subresource),
    ...(rules?.selectableFields === undefined ? {} : { selectableFields: rules.selectableFields }),
    ...(rules?.gracefulDelete === undefined ? {} : { gracefulDelete: rules.gracefulDelete }),
  };
}
