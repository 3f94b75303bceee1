// The keys of a server, one for each purpose, all derived from the server key. Values in the store are encrypted under the key ring.

import { join } from "node:path";
import type { Random } from "@postern/apiserver/runtime/clock";
import type { Configuration } from "../config/configuration.ts";
import { ConfigurationError } from "../config/configuration-error.ts";
import { deriveKey } from "../encryption/key-ring.ts";
import { readSecretFromCommand } from "../pki/secret-command.ts";
import { createSecret, readSecret } from "../pki/secret-file.ts";

const WHAT = "the server key";
const SERVER_KEY_FILE = "server.key";

export type ServerKeys = {
  /** Continue tokens are signed with it. */
  readonly continueTokens: Uint8Array;
  /** Backups are encrypted under it, unless they have a passphrase, and lists of keys in force are signed with it. */
  readonly backups: Uint8Array;
};

export type ServerSecrets = {
  /** The server key of an earlier start; undefined without one. */
  readonly present: Uint8Array | undefined;
  /** Those that it replaces: one, or none. */
  readonly previous: readonly Uint8Array[];
};

/** Rejects with ConfigurationError for anything that is no server key. */
export const readServerSecrets = async (configuration: Configuration): Promise<ServerSecrets> => ({
  present: await readServerSecret(configuration),
  previous: await readPreviousServerSecrets(configuration),
});

/**
 * The server key of an earlier start, from its file or from the command that prints it. Rejects with ConfigurationError for anything
 * that is none.
 */
export const readServerSecret = (configuration: Configuration): Promise<Uint8Array | undefined> =>
  configuration.serverKeyCommand === ""
    ? readSecret(serverKeyPath(configuration), WHAT)
    : readSecretFromCommand(configuration.serverKeyCommand, WHAT, "--server-key-command");

/** The server keys that the present one replaces: one, or none where none is configured. Rejects with ConfigurationError. */
export async function readPreviousServerSecrets({
  previousServerKeyFile: path,
}: Configuration): Promise<readonly Uint8Array[]> {
  if (path === "") return [];
  const secret = await readSecret(path, WHAT);
  if (secret !== undefined) return [secret];
  throw new ConfigurationError(`${path} does not exist: correct --previous-server-key-file, or leave it out`);
}

/** The secret is made on the first start; afterwards it must be there. */
export async function createServerSecret(
  configuration: Configuration,
  random: Random,
  isFirstStart: boolean,
): Promise<Uint8Array> {
  const path = serverKeyPath(configuration);
  if (!isFirstStart) {
    throw new ConfigurationError(
      `${path} is missing, and the store was encrypted with it: copy it from another server on this store, or from where you keep it; it is in no backup of the store, and with a new one existing access keys stop working`,
    );
  }
  return await createSecret(path, random);
}

export function deriveServerKeys(secret: Uint8Array): ServerKeys {
  return { continueTokens: deriveKey(secret, "continue tokens"), backups: deriveKey(secret, "backups") };
}

export const serverKeyPath = ({ dataDir, serverKeyFile }: Configuration): string =>
  serverKeyFile === "" ? join(dataDir, SERVER_KEY_FILE) : serverKeyFile;
