// The keys of one server, each for one purpose, all derived from the secret in its key file.

import { hkdfSync } from "node:crypto";
import { join } from "node:path";
import type { Random } from "@postern/apiserver/runtime/clock";
import type { Configuration } from "../config/configuration.ts";
import { ConfigurationError } from "../config/configuration-error.ts";
import { createSecret, readSecret } from "../pki/secret-file.ts";

const SERVER_KEY_FILE = "server.key";
const KEY_BYTES = 32;

export type ServerKeys = {
  /** Access keys are kept as HMACs under it, and their login data is sealed under it. */
  readonly accessKeys: Uint8Array;
  /** What the server keeps for itself, such as the authorities of virtual clusters, is sealed under it. */
  readonly internalRecords: Uint8Array;
  /** Continue tokens are signed with it. */
  readonly continueTokens: Uint8Array;
  /** Backups are encrypted under it, unless they have a passphrase, and lists of keys in force are signed with it. */
  readonly backups: Uint8Array;
};

/** The secret of an earlier start. Rejects with ConfigurationError for a file that holds something else. */
export const readServerSecret = (configuration: Configuration): Promise<Uint8Array | undefined> =>
  readSecret(serverKeyPath(configuration), "the server key");

/** The secret is made on the first start; afterwards it must be there. */
export async function createServerSecret(
  configuration: Configuration,
  random: Random,
  isFirstStart: boolean,
): Promise<Uint8Array> {
  const path = serverKeyPath(configuration);
  if (!isFirstStart) {
    throw new ConfigurationError(
      `${path} is missing, and the store was written under its key: restore it from a backup; with a new one, existing access keys stop working`,
    );
  }
  return await createSecret(path, random);
}

export function deriveServerKeys(secret: Uint8Array): ServerKeys {
  const derive = (purpose: string): Uint8Array =>
    new Uint8Array(hkdfSync("sha256", secret, "", `postern ${purpose}`, KEY_BYTES));
  return {
    accessKeys: derive("access keys"),
    internalRecords: derive("internal records"),
    continueTokens: derive("continue tokens"),
    backups: derive("backups"),
  };
}

export const serverKeyPath = ({ dataDir, serverKeyFile }: Configuration): string =>
  serverKeyFile === "" ? join(dataDir, SERVER_KEY_FILE) : serverKeyFile;
