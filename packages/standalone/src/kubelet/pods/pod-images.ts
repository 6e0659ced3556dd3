import type { EventRecorder, ObjectStore, Pod } from "@mooring/store";
import {
  type Image,
  ImageNeverPull,
  type Images,
  InvalidImageName,
  type PullPolicy,
} from "../../images/index.ts";
import type { Container } from "./field-ref.ts";
import type { ImageView } from "./pod-view.ts";
import { registryAuths } from "./registry-auths.ts";

const FIRST_MS = 10_000;
const LONGEST_MS = 300_000;

interface PodImagesOptions {
  images: Images;
  store: ObjectStore;
  events: EventRecorder;
  /** There is news of an image of this pod. */
  changed(podUID: string): void;
}

type Entry = ImageView | { state: "ready"; image: Image };

/** The images of containers that are to be started. A pull is under way while the pod can be read, and deleted. */
export class PodImages {
  readonly #options: PodImagesOptions;
  /** By container id, which begins with the pod's uid. */
  readonly #entries = new Map<string, Entry>();
  readonly #failures = new Map<string, number>();

  constructor(options: PodImagesOptions) {
    this.#options = options;
  }

  /** Why the container cannot start yet. */
  view(id: string): ImageView | undefined {
    const entry = this.#entries.get(id);
    return entry?.state === "ready" ? undefined : entry;
  }

  /** Roots from which a container is about to start. */
  roots(): string[] {
    return [...this.#entries.values()].flatMap((entry) =>
      entry.state === "ready" && entry.image.root !== undefined ? [entry.image.root] : [],
    );
  }

  /** The image of a container that is due to start; undefined while it is being brought here, or cannot be. */
  async ask(pod: Pod, container: Container, id: string): Promise<Image | undefined> {
    const entry = this.#entries.get(id);
    if (entry?.state === "ready") return entry.image;
    if (entry?.state === "pulling") return undefined;
    const text = container.image ?? "";
    const policy = (container.imagePullPolicy ?? "IfNotPresent") as PullPolicy;
    try {
      const image = await this.#options.images.here(text, policy);
      if (image !== undefined) return image;
    } catch (error) {
      this.#fail(pod, text, id, error);
      return undefined;
    }
    this.#entries.set(id, { state: "pulling" });
    void this.#pull(pod, text, id);
    return undefined;
  }

  /** The container has started, or never will. */
  forget(id: string): void {
    this.#entries.delete(id);
    this.#failures.delete(id);
  }

  forgetPod(podUID: string): void {
    for (const id of [...this.#entries.keys(), ...this.#failures.keys()])
      if (id.startsWith(`${podUID}_`)) this.forget(id);
  }

  async #pull(pod: Pod, text: string, id: string): Promise<void> {
    const { images, store, events, changed } = this.#options;
    try {
      events.event(pod, "Normal", "Pulling", `Pulling image "${text}"`);
      const image = await images.pull(text, await registryAuths(store, pod));
      events.event(pod, "Normal", "Pulled", `Successfully pulled image "${text}"`);
      if (this.#entries.has(id)) this.#entries.set(id, { state: "ready", image });
    } catch (error) {
      if (this.#entries.has(id)) this.#fail(pod, text, id, error);
    }
    changed(pod.metadata.uid ?? "");
  }

  #fail(pod: Pod, text: string, id: string, error: unknown): void {
    const failures = (this.#failures.get(id) ?? 0) + 1;
    this.#failures.set(id, failures);
    const message = error instanceof Error ? error.message : String(error);
    const { events } = this.#options;
    events.event(pod, "Warning", "Failed", `Failed to pull image "${text}": ${message}`);
    this.#entries.set(id, {
      state: "failed",
      since: Date.now(),
      forMs: Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS),
      ...reasonOf(error, text, message, failures),
    });
  }
}

/** The kubelet's messages: the first failure itself, and from the second on that it is being waited. */
function reasonOf(
  error: unknown,
  text: string,
  message: string,
  failures: number,
): { reason: string; message: string } {
  if (error instanceof InvalidImageName) return { reason: "InvalidImageName", message };
  if (error instanceof ImageNeverPull) return { reason: "ErrImageNeverPull", message };
  if (failures === 1) return { reason: "ErrImagePull", message };
  return {
    reason: "ImagePullBackOff",
    message: `Back-off pulling image "${text}": ErrImagePull: ${message}`,
  };
}
