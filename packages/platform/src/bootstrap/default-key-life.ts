// How long access keys live that say nothing of it, where the configuration does not say so either: as the store began with.

import type { Storage } from "@postern/apiserver/storage/storage";
import type { Configuration } from "../config/configuration.ts";
import { UNSET_TTL } from "../config/options/platform-options.ts";
import { readFirstStartMark } from "./first-start-mark.ts";

/** Ninety days. Stores that are older than this default keep their endless keys. */
export const NEW_STORE_TTL_SECONDS = 90 * 86_400;

/** The configuration with the setting accessKeys.defaultTTLSeconds filled in. */
export async function withDefaultKeyLife(configuration: Configuration, storage: Storage): Promise<Configuration> {
  const { accessKeys } = configuration;
  if (accessKeys.defaultTTLSeconds !== UNSET_TTL) return configuration;
  const mark = await readFirstStartMark(storage);
  const seconds = mark === undefined ? NEW_STORE_TTL_SECONDS : mark.defaultKeyTTLSeconds;
  const { maxTTLSeconds } = accessKeys;
  const defaultTTLSeconds = maxTTLSeconds > 0 ? Math.min(seconds, maxTTLSeconds) : seconds;
  return { ...configuration, accessKeys: { ...accessKeys, defaultTTLSeconds } };
}
