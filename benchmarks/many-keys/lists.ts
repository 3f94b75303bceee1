// Lists all keys page by page like client-go's pager: if the snapshot of the list has expired, it continues with the current state.
// Source: k8s.io/client-go/tools/pager/pager.go

import { performance } from "node:perf_hooks";
import { COLLECTION } from "../servers/access-key-object.ts";
import { askText, RefusedError } from "../servers/ask-text.ts";
import type { Postern } from "../servers/start-postern.ts";

const PAGE = 500;

export type Pages = {
  /** Milliseconds per page. */
  readonly times: readonly number[];
  readonly items: number;
  /** How often the snapshot had expired. */
  readonly renewed: number;
};

export async function readAllPages({ target }: Postern): Promise<Pages> {
  const times: number[] = [];
  let [next, items, renewed] = ["", 0, 0];
  do {
    const before = performance.now();
    try {
      const query = `limit=${PAGE}&continue=${encodeURIComponent(next)}`;
      const page = JSON.parse(await askText(target, "GET", `${COLLECTION}?${query}`));
      times.push(performance.now() - before);
      items += page.items.length;
      next = page.metadata.continue ?? "";
    } catch (error) {
      if (!(error instanceof RefusedError) || error.status !== 410) throw error;
      next = JSON.parse(error.body).metadata.continue;
      renewed++;
    }
  } while (next !== "");
  return { times, items, renewed };
}
