// A watch as a client keeps it: opened again from the last revision that it has seen, whenever it ends.

import { request } from "node:https";

type SeenEvent = { readonly type: string; readonly name: string; readonly revision: number };

export type FollowedWatch = Disposable & {
  /** In the order in which they came; without bookmarks. */
  readonly events: readonly SeenEvent[];
  /** The last revision that an event or a bookmark had. */
  revision(): number;
  /** How often it was opened. */
  opened(): number;
  /** Answers after which a client has to list again. */
  readonly gaps: readonly string[];
};

const PAUSE_MS = 50;

/** `path` without a query. `from`: the revision of a list. */
export function followWatch(
  { url, ca }: { readonly url: string; readonly ca: string },
  { path, key, from }: { readonly path: string; readonly key: string; readonly from: number },
): FollowedWatch {
  const events: SeenEvent[] = [];
  const gaps: string[] = [];
  let [revision, opened, isOver] = [from, 0, false];
  let close = (): void => {};

  const read = (line: string): void => {
    const { type, object } = JSON.parse(line);
    if (type === "ERROR") {
      if (object.code === 410) gaps.push(line);
      return;
    }
    revision = Number(object.metadata.resourceVersion);
    if (type !== "BOOKMARK") events.push({ type, name: object.metadata.name, revision });
  };
  const open = (): void => {
    if (isOver || gaps.length > 0) return;
    opened++;
    const again = (): void => void setTimeout(open, PAUSE_MS);
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${revision}`;
    const headers = { authorization: `Bearer ${key}` };
    const sent = request(`${url}${path}?${query}`, { ca, agent: false, headers }, (response) => {
      if (response.statusCode === 410) gaps.push(`410 from ${revision}`);
      let rest = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        if (response.statusCode !== 200) return;
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) read(line);
      });
      response.on("error", () => undefined);
      response.once("close", again);
    });
    let hasResponse = false;
    sent.on("response", () => (hasResponse = true));
    sent.on("error", () => {
      if (!hasResponse) again();
    });
    sent.end();
    close = () => sent.destroy();
  };
  open();
  return {
    events,
    gaps,
    revision: () => revision,
    opened: () => opened,
    [Symbol.dispose]() {
      isOver = true;
      close();
    },
  };
}
