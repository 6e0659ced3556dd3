import type { KubeObject } from "../object/meta.ts";
import type { Resource } from "../object/resource.ts";
import { isExpired } from "../object/status-error.ts";
import type { ListOptions, ListResult, ObjectStore } from "../object-store.ts";

const PAGE = 500;

/**
 * A whole list, fetched in pages so that no response is huge. When the server forgets the revision half-way, the list
 * starts again in one piece, which cannot expire.
 */
export async function listAll<T extends KubeObject>(
  store: Pick<ObjectStore, "list">,
  resource: Resource<T>,
  options: Omit<ListOptions, "limit" | "continue"> = {},
): Promise<ListResult<T>> {
  try {
    const first = await store.list(resource, { ...options, limit: PAGE });
    const items = first.items;
    let next = first.continue;
    while (next !== undefined && next !== "") {
      // The token carries the revision; the API refuses both together.
      const { resourceVersion: _r, resourceVersionMatch: _m, ...rest } = options;
      const page = await store.list(resource, { ...rest, limit: PAGE, continue: next });
      for (const item of page.items) items.push(item);
      next = page.continue;
    }
    return { items, resourceVersion: first.resourceVersion };
  } catch (error) {
    if (!isExpired(error)) throw error;
    return store.list(resource, options);
  }
}
