// `postern login`, `logout`, `whoami` and `status`: the platform and the user of all other commands.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { NodeTransportOptions } from "@postern/client/transport/node";
import { Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import {
  chooseConnection,
  platformHelp,
  withConnection,
  withConnectionOptions,
  withFoundConnection,
} from "../connection-options.ts";
import { describeFailure, PlatformFailure } from "../failure.ts";
import { withNotes } from "../help/help.ts";
import { accessKeysOf } from "../key/access-keys.ts";
import { FULL_SCOPE, scopeWords } from "../key/scope-words.ts";
import { forgetCredentials } from "../kubeconfig/credential.ts";
import { listAt, objectAt, textAt } from "../output/json-members.ts";
import { LIST_FORMATS, type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { plainText } from "../output/plain-text.ts";
import { printFields, printRows } from "../output/print-table.ts";
import { readSecretFrom } from "../read-secret.ts";
import { UsageError } from "../usage-error.ts";
import { askWhoAmI } from "../whoami.ts";
import {
  type ConnectionFlags,
  type FoundConnection,
  listSources,
  loginConnection,
  type SourceState,
} from "./platform-choice.ts";
import { askForTrust, authorityWithFingerprint, explainUntrusted, isUntrusted } from "./platform-trust.ts";
import {
  findPlatform,
  forgetPlatform,
  listPlatforms,
  parseAddress,
  platformsFile,
  readAuthority,
  savePlatform,
} from "./platforms.ts";
import { findSignIn, signInWithBrowser, signInWithDevice } from "./sign-in.ts";

type LoginFlags = OutputFlags & {
  readonly ca?: string;
  readonly caFingerprint?: string;
  readonly name?: string;
  readonly keyFile?: string;
  readonly browser?: boolean;
  readonly device?: boolean;
};

const LOGIN_NOTES = `On a terminal, asks whether to trust a certificate authority that is not known, and remembers it.
On a terminal, opens the browser if the platform has identity providers.
Reads an access key from --key-file or standard input, or prompts for it on a terminal.
In CI, set POSTERN_URL, POSTERN_TOKEN and POSTERN_CA instead: no login is needed.`;

export const createLoginCommand = (context: CommandContext): Command =>
  withOutputOption(withNotes(new Command("login"), LOGIN_NOTES))
    .description("sign in to a platform, or switch to one that you are signed in to")
    .argument(
      "<server>",
      "address of the platform, such as https://postern.example.com:8443, or the name of a known one",
    )
    .option("--ca <file>", "certificate authority of the platform, if its certificate is not publicly trusted")
    .addOption(
      new Option(
        "--ca-fingerprint <sha256>",
        "SHA-256 fingerprint of the certificate authority, or of another certificate that the platform presents, to trust it",
      ).conflicts("ca"),
    )
    .option("--name <name>", "name for the platform (default: its host and port)")
    .option("--key-file <file>", "file with the access key; - for standard input")
    .addOption(new Option("--browser", "sign in with a browser on this machine").conflicts(["device", "keyFile"]))
    .addOption(new Option("--device", "sign in with a code that you enter on another device").conflicts("keyFile"))
    .action((server: string, flags: LoginFlags) => logIn(server, flags, context));

async function logIn(server: string, flags: LoginFlags, context: CommandContext): Promise<void> {
  const { environment } = context;
  const known = (await listPlatforms(environment)).find(({ name }) => name === server);
  const isNewTrust = flags.ca !== undefined || flags.caFingerprint !== undefined;
  if (known !== undefined && !isNewTrust && (await reuseLogin(known.name, flags, context))) return;
  const address = known?.server ?? parseAddress(server);
  const name = flags.name ?? known?.name ?? new URL(address).host;
  const authority = await authorityFor(name, address, flags, context);
  const transport = {
    server: address,
    insecureSkipTlsVerify: false,
    proxyEnvironment: environment,
    ...(authority === undefined ? {} : { certificateAuthorityPem: authority }),
  };
  const token = await getToken(transport, flags, context).catch(explainTrust(address, context));
  const me = await withConnection({ transport, token }, context, askWhoAmI).catch(explainTrust(address, context));
  await savePlatform(environment, { name, server: address, token, certificateAuthorityPem: authority });
  if (writeAs(flags, loginOf(name, address, me), context)) return;
  context.stderr.write(
    `Signed in to ${address} as ${holderOf(me)}, with access key ${plainText(String(me["accessKey"] ?? "?"))}, expires ${endOf(me)}.\n`,
  );
}

/** With the members of `status`. */
const loginOf = (name: string, server: string, me: JsonObject): JsonObject => ({
  name,
  server,
  user: holderOf(me),
  accessKey: textAt(me, "accessKey"),
  expires: endOf(me),
});

async function getToken(transport: NodeTransportOptions, flags: LoginFlags, context: CommandContext): Promise<string> {
  const { browser = false, device = false, keyFile } = flags;
  const prompt = `Access key for ${transport.server}: `;
  if (keyFile !== undefined) {
    const token = await readSecretFrom(keyFile, prompt, context.readSecret);
    if (token === undefined) throw new UsageError(`no access key in ${keyFile === "-" ? "standard input" : keyFile}`);
    return token;
  }
  const isTerminal = context.stderr.isTTY === true && process.stdin.isTTY;
  const metadata = browser || device || isTerminal ? await findSignIn(transport) : undefined;
  if (metadata !== undefined)
    return device ? await signInWithDevice(transport, context) : await signInWithBrowser(transport, metadata, context);
  if (browser || device) throw new UsageError("the platform has no identity provider: sign in with an access key");
  const token = await context.readSecret(prompt);
  if (token === undefined) throw new UsageError("no access key: pipe it in, or type it at the prompt");
  return token;
}

/** Whether the stored credential of the platform is still valid; if so, makes it current. */
async function reuseLogin(name: string, flags: OutputFlags, context: CommandContext): Promise<boolean> {
  const { environment, stderr } = context;
  const { transport, token = "" } = await loginConnection(name, environment);
  try {
    const me = await withConnection({ transport, token }, context, askWhoAmI);
    const { server, certificateAuthorityPem } = transport;
    await savePlatform(environment, { name, server, token, certificateAuthorityPem });
    if (!writeAs(flags, loginOf(name, server, me), context))
      stderr.write(`Signed in to ${server} as ${holderOf(me)} already; other commands now use this platform.\n`);
    return true;
  } catch (error) {
    if (isApiError(error) && error.code === 401) return false;
    return await explainTrust(transport.server, context)(error);
  }
}

/** PEM of the CA to trust; undefined for those that this machine trusts. */
async function authorityFor(
  name: string,
  address: string,
  { ca, caFingerprint }: LoginFlags,
  context: CommandContext,
): Promise<string | undefined> {
  if (caFingerprint !== undefined) return await authorityWithFingerprint(address, caFingerprint, context.environment);
  if (ca !== undefined) return await readAuthority(ca);
  const remembered = (await knownAuthority(name, address, context)) ?? (await environmentAuthority(context));
  return remembered ?? (await askForTrust(address, context));
}

/** A platform with a stored CA needs no --ca again. */
async function knownAuthority(
  name: string,
  address: string,
  { environment }: CommandContext,
): Promise<string | undefined> {
  const known = (await listPlatforms(environment)).find((platform) => platform.name === name);
  if (known?.server !== address) return undefined;
  return (await loginConnection(name, environment)).transport.certificateAuthorityPem;
}

async function environmentAuthority({ environment }: CommandContext): Promise<string | undefined> {
  const authority = environment["POSTERN_CA"] ?? "";
  return authority === "" ? undefined : await readAuthority(authority);
}

/** The error of a certificate that the CA of the connection does not verify, with what to do; every other error as it is. */
const explainTrust =
  (server: string, { environment }: CommandContext) =>
  async (error: unknown): Promise<never> => {
    throw isUntrusted(error) ? await explainUntrusted(server, environment) : error;
  };

type LogoutFlags = OutputFlags & { readonly server?: string; readonly all?: boolean; readonly revoke?: boolean };

export const createLogoutCommand = (context: CommandContext): Command =>
  withOutputOption(new Command("logout"), ["text", "json", "yaml", "name"])
    .description("sign out of a platform")
    .option("--server <name>", "name or address of the platform, instead of the current one")
    .option("--all", "sign out of all platforms")
    .option("--revoke", "delete the access key on the platform as well")
    .action((flags: LogoutFlags) => logOut(flags, context));

async function logOut(flags: LogoutFlags, context: CommandContext): Promise<void> {
  const { server, all, revoke, output } = flags;
  const { environment, stderr } = context;
  const tell = (line: string): unknown => output === "text" && stderr.write(line);
  const platforms = await listPlatforms(environment);
  const one =
    server === undefined ? platforms.filter(({ isCurrent }) => isCurrent) : [await findPlatform(environment, server)];
  const chosen = all === true ? platforms : one;
  if (chosen.length === 0) throw new UsageError("you are not signed in to any platform");
  const ended: (JsonObject & { readonly name: string })[] = [];
  const left: string[] = [];
  for (const platform of chosen) {
    try {
      const deletedAccessKey = await deleteKeyOf(platform.name, revoke === true, context);
      if (deletedAccessKey !== null) tell(`Access key ${plainText(deletedAccessKey)} deleted.\n`);
      await forgetCredentials(environment, await loginConnection(platform.name, environment));
      await forgetPlatform(environment, platform.name);
      ended.push({ name: platform.name, server: platform.server, deletedAccessKey });
      tell(`Signed out of ${platform.name}.\n`);
    } catch (error) {
      // The other platforms do not wait for one that is down.
      if (chosen.length === 1) throw error;
      left.push(platform.name);
      stderr.write(`postern: ${platform.name}: ${describeFailure(error)}\n`);
    }
  }
  writeAs(
    flags,
    ended,
    context,
    ended.map(({ name }) => name),
  );
  if (left.length > 0)
    throw new UsageError(`still signed in to ${left.join(", ")}${revoke === true ? NOT_DELETED : ""}`);
}

const NOT_DELETED = ", whose access key was not deleted: try again, or run postern logout without --revoke";

/** The name of the access key that was deleted on the platform: that of a sign-in, or any with `always`. Null if none was. */
async function deleteKeyOf(platform: string, always: boolean, context: CommandContext): Promise<string | null> {
  const connection = await loginConnection(platform, context.environment);
  let deleted: string | null = null;
  await withConnection(connection, context, async (client, group) => {
    const { accessKey, accessKeyType } = await askWhoAmI(client, group);
    // The key of a sign-in has no other use.
    if (!always && accessKeyType !== "Login") return;
    if (typeof accessKey !== "string") throw new UsageError("the credential is not an access key: nothing to delete");
    await accessKeysOf(client, group).delete(accessKey);
    deleted = accessKey;
  }).catch((error: unknown) => {
    // The login ends even if the platform is unreachable or the key has expired.
    if (always) throw error;
  });
  return deleted;
}

export const createWhoAmICommand = (context: CommandContext): Command =>
  withOutputOption(
    withConnectionOptions(new Command("whoami").description("print who you are, and with which access key")),
  ).action(async (flags: ConnectionFlags & OutputFlags) => {
    const connection = await chooseConnection(flags, context);
    const me = await withFoundConnection(connection, context, askWhoAmI);
    if (writeAs(flags, me, context)) return;
    const teams = listAt(objectAt(me, "user"), "teams").map((team) => textAt(team, "name"));
    const scope = objectAt(me, "accessKeyScope");
    context.stdout.write(
      printFields([
        ["Platform", connection.transport.server],
        ["Signed in by", connection.from],
        ["Name", holderOf(me)],
        ["Teams", teams.join(", ")],
        ["Groups", listAt(me, "groups").join(", ")],
        ["Access key", textAt(me, "accessKey")],
        ["Type", textAt(me, "accessKeyType")],
        ["Scope", Object.keys(scope).length === 0 ? FULL_SCOPE : scopeWords(scope)],
        ["Expires", endOf(me)],
      ]),
    );
  });

export const createStatusCommand = (context: CommandContext): Command =>
  withOutputOption(
    withNotes(new Command("status"), platformHelp()).description(
      "list everything that names a platform, and which one commands use",
    ),
    LIST_FORMATS,
  ).action(async (flags: OutputFlags) => {
    const { environment, stderr, stdout } = context;
    const logins = await listPlatforms(environment);
    const sources = await listSources(context);
    const [used] = sources;
    // The current login is one of the logins.
    const others = sources.filter((each) => sourceOf(each) !== "login");
    const states = await Promise.all([
      ...others.map(async (each) => ({
        name: nameOf(each),
        server: serverOf(each),
        source: sourceOf(each),
        current: false,
        used: each === used,
        ...(await stateOf(async () => connectionIn(each), context)),
      })),
      ...logins.map(async ({ name, server, isCurrent }) => ({
        name,
        server,
        source: "login",
        current: isCurrent,
        used: isCurrent && used !== undefined && sourceOf(used) === "login",
        ...(await stateOf(() => loginConnection(name, environment), context)),
      })),
    ]);
    const names = states.map(({ name }) => name);
    if (writeAs(flags, states, context, names)) return;
    if (states.length === 0) {
      stderr.write(`not signed in to any platform (${platformsFile(environment)}), and nothing else names one\n`);
      return;
    }
    const rows = states.map(({ name, server, source, used, current, user, accessKey, expires, state }) => [
      used ? "*" : "",
      name,
      current ? "login (current)" : source,
      server,
      user,
      accessKey,
      expires,
      state,
    ]);
    stdout.write(printRows(["used", "name", "from", "server", "user", "access key", "expires", "state"], rows));
  });

const sourceOf = (state: SourceState): string => ("found" in state ? state.found.source : state.source);
const serverOf = (state: SourceState): string => ("found" in state ? state.found.transport.server : "");

function nameOf(state: SourceState): string {
  if (sourceOf(state) === "environment") return "POSTERN_URL";
  return "found" in state ? (state.found.mark.context ?? state.found.mark.login ?? "") : "";
}

function connectionIn(state: SourceState): FoundConnection {
  if ("found" in state) return state.found;
  throw state.error;
}

type PlatformState = {
  readonly state: string;
  readonly version: string;
  readonly user: string;
  readonly accessKey: string;
  readonly expires: string;
};

async function stateOf(find: () => Promise<FoundConnection>, context: CommandContext): Promise<PlatformState> {
  try {
    const connection = await find();
    return await withFoundConnection(connection, context, async (client, group) => {
      const me = await askWhoAmI(client, group);
      const version = await client.request({ method: "GET", path: "/version" });
      return {
        state: "ok",
        version: textAt(version, "gitVersion"),
        user: holderOf(me),
        accessKey: textAt(me, "accessKey"),
        expires: endOf(me),
      };
    });
  } catch (error) {
    const isRefused = error instanceof PlatformFailure && isApiError(error.cause) && error.cause.code === 401;
    const isLogin = isRefused && error.connection.mark.login !== undefined;
    const state = isLogin ? "signed out: run postern login again" : describeFailure(error);
    return { state, version: "", user: "", accessKey: "", expires: "" };
  }
}

function holderOf(me: JsonObject): string {
  const user = textAt(me["user"], "name");
  const team = textAt(me["team"], "name");
  if (user !== "") return plainText(`user ${user}`);
  return plainText(team === "" ? textAt(me, "subject") : `team ${team}`);
}

const endOf = (me: JsonObject): string => plainText(String(me["accessKeyExpirationTimestamp"] ?? "never"));
