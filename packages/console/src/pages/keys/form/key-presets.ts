// Presets of new access keys for what most keys are made for. Each fills in the form; all of it can be changed.

import { EMPTY_SCOPE } from "../scopes/scope-draft.ts";
import { EMPTY_DRAFT, type KeyDraft } from "./key-draft.ts";

export const PRESETS = ["own", "ci", "reader", "gitops"] as const;
export type Preset = (typeof PRESETS)[number];

const DAY = 86_400;

/** The values of the fields that a preset sets; the scope begins anew. */
export function presetDraft(preset: Preset): Partial<KeyDraft> {
  const { ttl, restarts, inside } = EMPTY_DRAFT;
  const plain = { ...EMPTY_SCOPE, ttl, restarts, inside };
  // The least that a pipeline needs: it deploys, and grants no rights.
  if (preset === "ci") return { ...plain, ttl: String(90 * DAY), inside: "edit" };
  if (preset === "reader") return { ...plain, inside: "view" };
  // It stays valid as long as it is used.
  if (preset === "gitops") return { ...plain, ttl: String(90 * DAY), restarts: true };
  return plain;
}

/** As the query of the page has it: `cluster` as `<project>/<name>`, `owner` as `user/<name>` or `team/<name>`. */
export type KeySearch = { readonly cluster?: string; readonly project?: string; readonly owner?: string };

/** The form as the page of a virtual cluster, project, user or team opens it. */
export function draftFor({ cluster, project, owner = EMPTY_DRAFT.owner }: KeySearch): {
  readonly preset: Preset;
  readonly draft: KeyDraft;
} {
  const draft = { ...EMPTY_DRAFT, owner };
  // A pipeline is what most keys for one virtual cluster are made for.
  if (cluster !== undefined)
    return { preset: "ci", draft: { ...draft, ...presetDraft("ci"), virtualClusters: [cluster] } };
  return { preset: "own", draft: { ...draft, projects: project === undefined ? [] : [project] } };
}
