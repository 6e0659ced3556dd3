import type { Resource, ResourceRegistry } from "@mooring/store";
import type { MutableKindRegistry } from "../../kinds/kind-info.ts";
import { frozen } from "../clean-up.ts";
import { customKind } from "../custom-kind.ts";
import type { KindChanges } from "../kind-changes.ts";
import type { CustomResourceDefinition } from "../types.ts";

interface Served {
  resource: Resource;
  version: string;
  frozen: boolean;
}

/** What is registered for each definition, to do so again only when it changes. */
export class ServedKinds {
  readonly #registry: ResourceRegistry;
  readonly #kinds: MutableKindRegistry | undefined;
  readonly #served = new Map<string, Served>();

  readonly #changes: KindChanges | undefined;

  /** `changes`: who else is to know. */
  constructor(registry: ResourceRegistry, kinds: MutableKindRegistry | undefined, changes?: KindChanges) {
    this.#registry = registry;
    this.#kinds = kinds;
    this.#changes = changes;
  }

  get(name: string): Served | undefined {
    return this.#served.get(name);
  }

  /** As the definition has it now. */
  isCurrent(crd: CustomResourceDefinition): boolean {
    const served = this.#served.get(crd.metadata.name);
    return served?.version === versionOf(crd) && !served.frozen;
  }

  serve(crd: CustomResourceDefinition): void {
    if (this.isCurrent(crd)) return;
    const { definition, info } = customKind(crd);
    this.#registry.register(definition);
    this.#kinds?.set(info);
    const { resource } = definition;
    this.#served.set(crd.metadata.name, { resource, version: versionOf(crd), frozen: false });
    this.#changes?.note({ do: "serve", crd });
  }

  /** From now on objects can go but not come. */
  freeze(crd: CustomResourceDefinition): void {
    const served = this.#served.get(crd.metadata.name);
    if (served === undefined) return;
    this.#registry.register(frozen(customKind(crd).definition));
    this.#served.set(crd.metadata.name, { ...served, frozen: true });
    this.#changes?.note({ do: "freeze", crd });
  }

  withdraw(name: string): void {
    const served = this.#served.get(name);
    if (served === undefined) return;
    this.#served.delete(name);
    this.#kinds?.delete(served.resource.group, served.resource.plural);
    this.#registry.unregister(served.resource);
    this.#changes?.note({ do: "withdraw", name });
  }
}

/** Specs can be huge; the generation shows as well whether one has changed. */
function versionOf({ metadata }: CustomResourceDefinition): string {
  return `${metadata.uid}/${metadata.generation}`;
}
