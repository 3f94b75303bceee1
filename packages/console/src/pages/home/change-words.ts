// Changes of objects in words: "ann created 3 access keys (ci, bot and 1 more)". Equal changes of one user that follow each other are one sentence.

import { counted, named, t } from "../../texts/text.tsx";
import type { Change } from "./use-activity.ts";

export type ChangeLine = {
  readonly id: string;
  /** The time of the newest of its changes. */
  readonly at: string;
  readonly user: string;
  /** Such as `created access key ci`. */
  readonly words: string;
};

const NAMES = 3;

/** `changes`: newest first. */
export function changeLines(changes: readonly Change[]): readonly ChangeLine[] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const last = groups.at(-1);
    if (last !== undefined && last[0] !== undefined && isSameWork(last[0], change)) last.push(change);
    else groups.push([change]);
  }
  return groups.flatMap((group) => {
    const [newest] = group;
    if (newest === undefined) return [];
    const { at, user } = newest;
    return [{ id: `${at} ${user} ${wordsOf(newest, group)}`, at, user, words: wordsOf(newest, group) }];
  });
}

const isSameWork = (one: Change, other: Change): boolean =>
  one.user === other.user &&
  one.verb === other.verb &&
  one.resource === other.resource &&
  one.subresource === other.subresource;

function wordsOf({ verb, resource, subresource }: Change, group: readonly Change[]): string {
  const names = [...new Set(group.map(({ name }) => name).filter((name) => name !== ""))];
  const kind = names.length > 1 ? named("kinds", resource) : named("kind", resource);
  const more = names.length - NAMES;
  const list = more > 0 ? counted("change.more", more, { names: names.slice(0, NAMES).join(", ") }) : names.join(", ");
  const what = names.length > 1 ? `${names.length} ${kind} (${list})` : [kind, list].filter(Boolean).join(" ");
  const [head = subresource] = subresource.split("/");
  const isObject = head === "" || head === "status";
  const text = isObject ? named("change", verb) : named("change", head);
  const other = isObject ? `${verb} {what}` : t("change.subresource", { subresource: head, what: "{what}" });
  return (text.includes("{what}") ? text : other).replace("{what}", what);
}
