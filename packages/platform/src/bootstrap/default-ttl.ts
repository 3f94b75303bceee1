// The default TTL of access keys if the configuration does not set one: fixed when the store was created.

import type { Storage } from "@postern/apiserver/storage/storage";
import type { Configuration } from "../foundation/config/configuration.ts";
import { UNSET_TTL } from "../foundation/config/options/platform-options.ts";
import { readFirstStartMark } from "../foundation/store/first-start-mark.ts";

/** Ninety days. Stores that are older than this default keep their endless keys. */
export const NEW_STORE_TTL_SECONDS = 90 * 86_400;

/** The configuration with the settings accessKeys.defaultTTLSeconds and accessKeys.machineDefaultTTLSeconds filled in. */
export async function withDefaultTTL(configuration: Configuration, storage: Storage): Promise<Configuration> {
  const { accessKeys } = configuration;
  const { defaultTTLSeconds: given, machineDefaultTTLSeconds: givenToMachines, maxTTLSeconds } = accessKeys;
  const atMost = (seconds: number): number => (maxTTLSeconds > 0 ? Math.min(seconds, maxTTLSeconds) : seconds);
  const defaultTTLSeconds = given === UNSET_TTL ? atMost(await lifeOfStore(storage)) : given;
  // Warnings to a pipeline are not read, and its key would end unnoticed.
  const lifeOfMachines = given === UNSET_TTL ? 0 : given;
  const machineDefaultTTLSeconds = givenToMachines === UNSET_TTL ? lifeOfMachines : givenToMachines;
  return { ...configuration, accessKeys: { ...accessKeys, defaultTTLSeconds, machineDefaultTTLSeconds } };
}

async function lifeOfStore(storage: Storage): Promise<number> {
  const mark = await readFirstStartMark(storage);
  return mark === undefined ? NEW_STORE_TTL_SECONDS : mark.defaultKeyTTLSeconds;
}
