import { Code } from "@mooring/csi";
import {
  allInParallel,
  failpoint,
  isConflict,
  isDeleting,
  isStatus,
  type KubeObject,
  keyOf,
  type PersistentVolumeClaim,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { lockFor } from "../common/member-lock.ts";
import {
  backendNameOf,
  GROUP_DRIVER,
  MEMBER_FINALIZER,
  MEMBER_OF,
  VOLUME_GROUP_BEING_CREATED,
  VOLUME_GROUP_CONTENT_FINALIZER,
  VOLUME_GROUP_FINALIZER,
} from "../common/volume-group-names.ts";
import { callFailure } from "../csi/codes.ts";
import { deleteObject, type MetadataChange, patchMetadata, patchObject, patchStatus } from "../kube/patch.ts";
import { type VolumeGroup, type VolumeGroupContent, VolumeGroupContents } from "../kube/volume-group.ts";
import { readSecret, readSecretIfAny, SecretMissing } from "../secrets/read.ts";
import { getGroup, groupResultOf, membersBeforeDeletion } from "./calls.ts";
import { growClaim } from "./grow-claim.ts";
import type { GrowthRefusals } from "./growth-refusals.ts";
import type { RecordStep } from "./record.ts";
import { requestKeyOfSet } from "./request-key.ts";
import type { VolumeGroupStep } from "./step.ts";
import type { StorageMemory } from "./storage-memory.ts";
import type { ClaimOfVolume, VolumeGroupView } from "./view.ts";

const point = (name: string) => failpoint(`sidecars/volume-group/${name}`);
const failpoints = {
  created: point("group-created"),
  claimProtected: point("claim-protected"),
  modified: point("group-modified"),
  released: point("claim-released"),
  claimDeleted: point("claim-deleted"),
  deleted: point("group-deleted"),
};

/** Makes one change: to an object, to several claims at once, each of which may be repeated, or by one call to the driver. */
export class VolumeGroupSteps {
  readonly #context: SidecarContext;
  readonly #memory: StorageMemory;
  readonly #signal: AbortSignal;

  readonly #growth: GrowthRefusals;

  constructor(
    context: SidecarContext,
    { growth, memory }: { growth: GrowthRefusals; memory: StorageMemory },
    signal: AbortSignal,
  ) {
    this.#context = context;
    this.#memory = memory;
    this.#growth = growth;
    this.#signal = signal;
  }

  async apply(step: VolumeGroupStep, view: VolumeGroupView): Promise<void> {
    const { content, group } = view;
    if (group !== undefined && (await this.#applyToGroup(step, view, group))) return;
    if (step.do === "release-claims") return allInParallel(step.claims, (claim) => this.#release(claim));
    if (step.do === "grow-claim") return growClaim(this.#context, this.#growth, step);
    if (step.do === "delete-claims") {
      return allInParallel(step.claims, async (claim) => {
        await deleteObject(this.#context.store, this.#context.cluster.claims, claim);
        failpoints.claimDeleted();
      });
    }
    if (content === undefined) return;
    if (await this.#call(step, view, content)) return;
    await this.#applyToContent(step, content, group);
  }

  async #applyToGroup(step: VolumeGroupStep, view: VolumeGroupView, group: VolumeGroup): Promise<boolean> {
    const { cluster, driver, store } = this.#context;
    const change = (what: MetadataChange) => patchMetadata(store, cluster.volumeGroups, group, what);
    switch (step.do) {
      case "add-finalizer":
        await change({
          addFinalizers: [VOLUME_GROUP_FINALIZER],
          annotations: { [GROUP_DRIVER]: driver.info.name },
        });
        return true;
      case "create-content":
        cluster.volumeGroupContents.wrote(await store.create(VolumeGroupContents, step.content));
        return true;
      case "protect-claims":
        await allInParallel(step.claims, (each) => this.#protect(each, view, group));
        return true;
      case "write-status":
        await this.#report(step, view, group);
        return true;
      case "release-group":
        await change({ removeFinalizers: [VOLUME_GROUP_FINALIZER] });
        return true;
      default:
        return false;
    }
  }

  async #applyToContent(
    step: VolumeGroupStep,
    content: VolumeGroupContent,
    group: VolumeGroup | undefined,
  ): Promise<void> {
    const { cluster, store } = this.#context;
    const contents = cluster.volumeGroupContents;
    switch (step.do) {
      case "bind-content": {
        const finalizers = new Set([...(content.metadata.finalizers ?? []), VOLUME_GROUP_CONTENT_FINALIZER]);
        const volumeGroupRef = { uid: group?.metadata.uid };
        const bound = { metadata: { finalizers: [...finalizers] }, spec: { volumeGroupRef } };
        await patchObject(store, contents, content, bound);
        return;
      }
      case "mark-being-created":
        await patchMetadata(store, contents, content, {
          annotations: { [VOLUME_GROUP_BEING_CREATED]: "yes" },
          checkVersion: true,
        });
        this.#memory.marked(content.metadata.uid ?? "");
        return;
      case "record":
        return this.#record(step, content, group);
      case "write-content-conditions":
        await patchStatus(store, contents, content, step.status);
        return;
      case "delete-content":
        await deleteObject(store, contents, content);
        return;
      case "release-content":
        await patchMetadata(store, contents, content, { removeFinalizers: [VOLUME_GROUP_CONTENT_FINALIZER] });
        this.#memory.forget(content.metadata.uid ?? "");
        return;
    }
  }

  /** Finalizer and mark come in one write that insists on the claim we have seen: of two groups, one gets it. */
  async #protect(
    { claim, handle }: ClaimOfVolume,
    { content }: VolumeGroupView,
    group: VolumeGroup,
  ): Promise<void> {
    try {
      await this.#patchClaim(claim, {
        addFinalizers: [MEMBER_FINALIZER],
        annotations: { [MEMBER_OF]: lockFor(group, handle) },
      });
      failpoints.claimProtected();
    } catch (error) {
      // A rule of the cluster forbids it: this claim stays out, the others do not wait for it.
      if (!isStatus(error, "Forbidden", "Invalid", "BadRequest")) throw error;
      this.#memory.refuse(
        content?.metadata.uid ?? "",
        handle,
        `the claim cannot be protected: ${error.message}`,
      );
    }
  }

  async #release(claim: PersistentVolumeClaim): Promise<void> {
    await this.#patchClaim(claim, {
      removeFinalizers: [MEMBER_FINALIZER],
      annotations: { [MEMBER_OF]: null },
    });
    failpoints.released();
  }

  async #patchClaim(claim: PersistentVolumeClaim, change: MetadataChange): Promise<void> {
    const { cluster, store } = this.#context;
    try {
      await patchMetadata(store, cluster.claims, claim, change);
    } catch (error) {
      // The next read has to see what is in the way.
      if (isStatus(error, "Conflict", "NotFound", "Invalid")) await cluster.claims.refresh(keyOf(claim));
      throw error;
    }
  }

  async #report(
    { news, status }: Extract<VolumeGroupStep, { do: "write-status" }>,
    { candidates }: VolumeGroupView,
    group: VolumeGroup,
  ): Promise<void> {
    const { cluster, events, store } = this.#context;
    // Fields that are not set any more go.
    const gone = Object.keys(group.status ?? {}).filter((key) => !(key in status));
    const cleared = Object.fromEntries(gone.map((key) => [key, null]));
    await patchStatus(store, cluster.volumeGroups, group, { ...cleared, ...status });
    for (const { claimName, message, reason, type } of news) {
      const claim = candidates.find((each) => each.claim.metadata.name === claimName)?.claim;
      const subject: KubeObject | undefined = claimName === undefined ? group : claim;
      if (subject !== undefined) events.event(subject, type, reason, message);
    }
  }

  async #record(
    step: RecordStep,
    content: VolumeGroupContent,
    group: VolumeGroup | undefined,
  ): Promise<void> {
    const { cluster, events, store } = this.#context;
    const uid = content.metadata.uid ?? "";
    try {
      await patchStatus(store, cluster.volumeGroupContents, content, step.status);
    } catch (error) {
      // Another process has written after its own call: which of the two calls came last, only the driver can show.
      if (isConflict(error)) this.#memory.settled(uid, "doubtful");
      throw error;
    }
    this.#memory.settled(uid, "recorded");
    if (step.repaired !== undefined)
      events.event(group ?? content, "Warning", "MembershipDrift", step.repaired);
  }

  /** True when the step was a call to the driver. */
  async #call(step: VolumeGroupStep, view: VolumeGroupView, content: VolumeGroupContent): Promise<boolean> {
    switch (step.do) {
      case "create-group":
        await this.#createGroup(view, content);
        return true;
      case "get-group":
        await this.#getGroup(step, view, content);
        return true;
      case "modify":
        await this.#modify(step, view, content);
        return true;
      case "delete-group":
        await this.#deleteGroup(step, view, content);
        return true;
      default:
        return false;
    }
  }

  async #createGroup(view: VolumeGroupView, content: VolumeGroupContent): Promise<void> {
    const { volumeGroup } = this.#context.driver.client;
    const uid = content.metadata.uid ?? "";
    await this.#attempt(
      view,
      content,
      (failure) => this.#memory.createFailed(uid, failure),
      async (secrets, options) => {
        const name = backendNameOf(content.spec.volumeGroupRef.uid ?? "");
        const request = { name, parameters: content.spec.parameters ?? {}, secrets };
        const made = await volumeGroup.createVolumeGroup(request, options);
        failpoints.created();
        this.#memory.created(uid, groupResultOf(made.volumeGroup));
      },
    );
  }

  async #getGroup(
    { handle }: Extract<VolumeGroupStep, { do: "get-group" }>,
    view: VolumeGroupView,
    content: VolumeGroupContent,
  ): Promise<void> {
    const { client, info } = this.#context.driver;
    const uid = content.metadata.uid ?? "";
    await this.#attempt(
      view,
      content,
      ({ message }) => this.#memory.failed(uid, "get", handle, message),
      async (secrets, options) => {
        const canGet = info.volumeGroups.has("GET_VOLUME_GROUP");
        const found = await getGroup(client, handle, { canGet, secrets }, options);
        const message = `volume group ${handle} does not exist`;
        if (found === undefined) this.#memory.vanished(uid, handle, { message, proven: canGet });
        else this.#memory.received(uid, found);
      },
    );
  }

  async #deleteGroup(
    step: Extract<VolumeGroupStep, { do: "delete-group" }>,
    view: VolumeGroupView,
    content: VolumeGroupContent,
  ): Promise<void> {
    const { driver } = this.#context;
    const uid = content.metadata.uid ?? "";
    await this.#attempt(
      view,
      content,
      ({ code, message }) => {
        // Drivers exist that return this for what is gone already.
        if (code === Code.NOT_FOUND) this.#memory.deleted(uid);
        else this.#memory.failed(uid, "delete", step.handle, message);
      },
      async (secrets, options) => {
        const left = await membersBeforeDeletion(driver, step, secrets, options);
        if (left?.volumeHandles.some((each) => !step.volumeHandles.includes(each))) {
          this.#memory.received(uid, left);
          return;
        }
        await driver.client.volumeGroup.deleteVolumeGroup({ volumeGroupId: step.handle, secrets }, options);
        failpoints.deleted();
        this.#memory.deleted(uid);
      },
    );
  }

  async #modify(
    step: Extract<VolumeGroupStep, { do: "modify" }>,
    view: VolumeGroupView,
    content: VolumeGroupContent,
  ): Promise<void> {
    if (step.added.length > 0 && !(await this.#isWanted(view))) return;
    const { client, info } = this.#context.driver;
    const { volumeGroup } = client;
    const canGet = info.volumeGroups.has("GET_VOLUME_GROUP");
    const uid = content.metadata.uid ?? "";
    const { handle: volumeGroupId, volumeHandles: volumeIds } = step;
    await this.#attempt(
      view,
      content,
      (failure) => {
        // CSI has no request for just this group, and there was nothing in the request but the group.
        const isGone = !canGet && failure.code === Code.NOT_FOUND && volumeIds.length === 0;
        if (isGone) this.#memory.vanished(uid, volumeGroupId, { message: failure.message, proven: true });
        else this.#memory.modifyFailed(uid, failure, step);
      },
      async (secrets, options) => {
        const changed = await volumeGroup.modifyVolumeGroupMembership(
          { volumeGroupId, volumeIds, secrets },
          options,
        );
        failpoints.modified();
        this.#memory.modified(uid, groupResultOf(changed.volumeGroup), volumeIds);
      },
    );
    this.#context.logger.debug(
      { group: volumeGroupId, volumes: volumeIds.length, set: requestKeyOfSet(volumeIds) },
      "asked for members",
    );
  }

  /**
   * Asks the server. Whoever hears of a deletion late must not fill a group again that another process has emptied for
   * its end: its volumes would go with it.
   */
  async #isWanted({ group }: VolumeGroupView): Promise<boolean> {
    if (group === undefined) return true;
    const current = await this.#context.cluster.volumeGroups.refresh(keyOf(group), this.#signal);
    return current !== undefined && current.metadata.uid === group.metadata.uid && !isDeleting(current);
  }

  /** One call. What is taken away must not wait for a secret that is gone. */
  async #attempt(
    { group }: VolumeGroupView,
    content: VolumeGroupContent,
    failed: (failure: ReturnType<typeof callFailure>) => void,
    call: (
      secrets: Record<string, string>,
      options: { signal: AbortSignal; timeoutMs: number },
    ) => Promise<void>,
  ): Promise<void> {
    const { events, logger, store, timeoutMs } = this.#context;
    const isEnding = group === undefined || group.metadata.deletionTimestamp !== undefined;
    const read = isEnding ? readSecretIfAny : readSecret;
    try {
      await call(await read(store, content.spec.secretRef, this.#signal), {
        signal: this.#signal,
        timeoutMs,
      });
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const { message } = callFailure(error);
      failed(error instanceof SecretMissing ? { code: Code.UNAUTHENTICATED, message } : callFailure(error));
      logger.warn({ content: content.metadata.name, error: message }, "a call about a volume group failed");
      // A group reports it in its conditions; of a content that is left nothing else reports it.
      if (group === undefined) events.event(content, "Warning", "CallFailed", message);
    }
  }
}
