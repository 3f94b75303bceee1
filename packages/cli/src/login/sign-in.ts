// Signs a user in and gets an access key: with a browser on this machine, or with a code on another device.
// Source: RFC 8252 (native apps), RFC 7636 (PKCE), RFC 8628 (device grant), RFC 9207 (iss)

import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { createNodeTransport, type NodeTransportOptions } from "@postern/client/transport/node";
import { readAnswer } from "../ci/job-identity.ts";
import type { CommandContext } from "../command-context.ts";
import { accessKeyAt, textAt } from "../output/json-members.ts";
import { cellText } from "../output/print-table.ts";
import { UsageError } from "../usage-error.ts";

const CLIENT = "postern-cli";
const WAIT_MS = 10 * 60_000;
const MAX_INTERVAL_SECONDS = 60;
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

type Answer = { readonly status: number; readonly body: JsonObject };

async function ask(transport: NodeTransportOptions, method: string, path: string, form?: object): Promise<Answer> {
  await using connection = createNodeTransport(transport);
  const response = await connection.send({
    method,
    path,
    headers: {
      accept: "application/json",
      "user-agent": `postern/${BUILD_INFO.version}`,
      ...(form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
    },
    ...(form === undefined ? {} : { body: new URLSearchParams({ client_id: CLIENT, ...form }).toString() }),
  });
  const body = await readAnswer(response);
  return { status: response.status, body: isJsonObject(body) ? body : {} };
}

/** The sign-in of the platform; undefined if users cannot sign in. */
export async function findSignIn(transport: NodeTransportOptions): Promise<JsonObject | undefined> {
  const { status, body } = await ask(transport, "GET", "/.well-known/oauth-authorization-server");
  return status === 200 && body["sign_in_available"] === true ? body : undefined;
}

/** Opens the browser, and waits for its redirect to a local address. Throws UsageError. */
export async function signInWithBrowser(
  transport: NodeTransportOptions,
  metadata: JsonObject,
  { stderr, environment }: CommandContext,
): Promise<string> {
  const state = randomBytes(32).toString("base64url");
  const verifier = randomBytes(32).toString("base64url");
  await using waiting = await waitForBrowser(state, textAt(metadata, "issuer"));
  const { redirectUri } = waiting;
  const url = new URL(textAt(metadata, "authorization_endpoint"));
  if (url.protocol !== "https:") throw new UsageError("the platform has no sign-in page");
  const asked = {
    response_type: "code",
    client_id: CLIENT,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  stderr.write(`Sign in with your browser. If it does not open automatically, open this address:\n${url}\n`);
  openBrowser(url.href, environment);
  const code = await waiting.code;
  return await redeem(transport, {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
}

/** Prints the code to enter on another device, and waits. Throws UsageError. */
export async function signInWithDevice(transport: NodeTransportOptions, { stderr }: CommandContext): Promise<string> {
  const { status, body } = await ask(transport, "POST", "/oauth/device_authorization", {});
  const deviceCode = textAt(body, "device_code");
  if (status !== 200 || deviceCode === "") throw new UsageError(faultIn(body, status));
  stderr.write(`Open ${cellText(body["verification_uri"])} on any device and enter this code:\n`);
  stderr.write(`${cellText(body["user_code"])}\n`);
  let seconds = intervalIn(body);
  for (;;) {
    await delay(seconds * 1000);
    const form = { grant_type: DEVICE_GRANT, device_code: deviceCode };
    const answer = await ask(transport, "POST", "/oauth/token", form);
    const error = textAt(answer.body, "error");
    if (error === "slow_down") seconds += 5;
    else if (error !== "authorization_pending") return keyIn(answer);
  }
}

/** RFC 8628: five seconds where the server names none. A timer would take the time of a day and more, or no number, for none. */
function intervalIn({ interval }: JsonObject): number {
  return typeof interval === "number" && interval >= 1 && interval <= MAX_INTERVAL_SECONDS ? interval : 5;
}

async function redeem(transport: NodeTransportOptions, form: object): Promise<string> {
  return keyIn(await ask(transport, "POST", "/oauth/token", form));
}

function keyIn({ status, body }: Answer): string {
  const key = accessKeyAt(body, "access_token");
  if (status !== 200 || key === "") throw new UsageError(faultIn(body, status));
  return key;
}

const faultIn = (body: JsonObject, status: number): string => {
  const error = textAt(body, "error");
  if (error === "access_denied") return "not signed in: it was refused in the browser";
  if (error === "expired_token") return "not signed in: the sign-in was not confirmed in time";
  const why = textAt(body, "error_description") || error;
  return `not signed in: ${why === "" ? `the platform answered with code ${status}` : why}`;
};

type Waiting = AsyncDisposable & { readonly redirectUri: string; readonly code: Promise<string> };

/** The first response with the right state counts. Other local programs may send others. */
async function waitForBrowser(state: string, issuer: string): Promise<Waiting> {
  const found = { resolve: (_code: string): void => {}, reject: (_error: Error): void => {} };
  const code = new Promise<string>((resolve, reject) => Object.assign(found, { resolve, reject }));
  // There may be no caller waiting yet.
  code.catch(() => {});
  const server = createServer((request, response) => {
    const answer = readReturn(request, state, issuer);
    if (answer === undefined) return say(response, 404, "Page not found.");
    if ("error" in answer) {
      const { error } = answer;
      return say(response, 200, "You are not signed in. You can close this page.", () =>
        found.reject(new UsageError(error)),
      );
    }
    const { code } = answer;
    say(response, 200, "You are signed in on the command line. You can close this page.", () => found.resolve(code));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const timer = setTimeout(
    () => found.reject(new UsageError("not signed in: the browser did not return in time")),
    WAIT_MS,
  );
  return {
    redirectUri: `http://127.0.0.1:${port}/callback`,
    code,
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      const closed = new Promise((resolve) => server.close(resolve));
      // Other programs may have opened connections that they never end.
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Undefined if this is not a response to this sign-in. */
function readReturn(
  { method, url = "" }: IncomingMessage,
  state: string,
  issuer: string,
): { readonly code: string } | { readonly error: string } | undefined {
  // Pages of browsers reach this port, too, with paths such as `//`.
  if (!URL.canParse(url, "http://127.0.0.1")) return undefined;
  const { pathname, searchParams } = new URL(url, "http://127.0.0.1");
  const isOurs = method === "GET" && pathname === "/callback" && searchParams.get("state") === state;
  // Ignores the response of another platform.
  if (!isOurs || searchParams.get("iss") !== issuer) return undefined;
  const code = searchParams.get("code");
  return code === null ? { error: faultIn({ error: searchParams.get("error") ?? "" }, 200) } : { code };
}

function say(response: ServerResponse, status: number, text: string, onSent = (): void => {}): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(`${text}\n`);
  // Also if the browser has closed the connection.
  response.once("close", onSent);
}

const OPENERS: { readonly [platform: string]: string } = { darwin: "open", win32: "explorer" };

/** BROWSER names another command, or "none" for no browser. */
function openBrowser(url: string, environment: CommandContext["environment"]): void {
  const command = environment["BROWSER"] ?? OPENERS[process.platform] ?? "xdg-open";
  if (command === "none") return;
  // Without a browser, the user can open the printed address.
  spawn(command, [url], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
