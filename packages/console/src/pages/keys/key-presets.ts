// Presets of new access keys for what most keys are made for. Each fills in the form; all of it can be changed.

import { EMPTY_DRAFT, type KeyDraft } from "./key-draft.ts";
import { EMPTY_SCOPE } from "./scope-draft.ts";

export const PRESETS = ["own", "ci", "reader", "gitops"] as const;
export type Preset = (typeof PRESETS)[number];

const DAY = 86_400;

/** The values of the fields that a preset sets; the scope begins anew. */
export function presetDraft(preset: Preset): Partial<KeyDraft> {
  const { ttl, restarts, isReadOnly } = EMPTY_DRAFT;
  const plain = { ...EMPTY_SCOPE, ttl, restarts, isReadOnly };
  if (preset === "ci") return { ...plain, ttl: String(90 * DAY) };
  if (preset === "reader") return { ...plain, isReadOnly: true };
  // It stays valid as long as it is used.
  if (preset === "gitops") return { ...plain, ttl: String(90 * DAY), restarts: true };
  return plain;
}
