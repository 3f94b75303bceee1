// The page of recordings in Chromium, of a server that records: found, opened, downloaded and followed to older ones, with the keyboard, at four widths and
// in both themes.

import { once } from "node:events";
import { readFile, rm, utimes } from "node:fs/promises";
import { Agent } from "node:https";
import { join } from "node:path";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { newPerson, startBrowser } from "./testing/browser.ts";
import { signInAs } from "./testing/console.ts";
import { axeFindings, WITHOUT_TRANSITIONS } from "./testing/judge-page.ts";
import { layoutFaults } from "./testing/page-layout.ts";
import { MANAGEMENT, POD_PATH, type ProxiedPod, proxyPod } from "./testing/proxied-pod.ts";

const WIDTHS = [360, 640, 800, 1_440] as const;
const WAIT = { timeout: 30_000, interval: 50 };

let proxied: ProxiedPod;
let browser: Browser;
let page: Page;
let directory: string;
const errors: string[] = [];

beforeAll(async () => {
  directory = join(process.env["TMPDIR"] ?? "/tmp", `console-recordings-${process.pid}`);
  proxied = await proxyPod(undefined, ["--session-recording-dir", directory]);
  const patched = await proxied.http(`${MANAGEMENT}/projects/default`, {
    key: proxied.admin,
    method: "PATCH",
    body: { spec: { sessionRecording: { mode: "Required" } } },
    headers: { "content-type": "application/merge-patch+json" },
  });
  expect(patched.status, patched.text).toBe(200);
  for (const word of ["one", "two", "three"]) await session(["echo", word]);
  browser = await startBrowser();
  page = await (await newPerson(browser)).newPage();
  page.on("pageerror", ({ message }) => errors.push(message));
  await page.goto(proxied.server.url);
  await signInAs(page, proxied.admin);
});
afterAll(async () => {
  await browser?.close();
  await proxied?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
  expect(errors).toEqual([]);
});

/** Resolves when the recording is complete. */
async function session(command: readonly string[]): Promise<void> {
  const query = new URLSearchParams({ stdout: "true" });
  for (const word of command) query.append("command", word);
  const socket = new WebSocket(
    `${proxied.server.url.replace("https", "wss")}${POD_PATH}/exec?${query}`,
    ["v5.channel.k8s.io"],
    { agent: new Agent({ rejectUnauthorized: false }), headers: { authorization: `Bearer ${proxied.admin}` } },
  );
  await once(socket, "close");
  // Also before the first test.
  await vi.waitFor(async () => expect((await items()).every(({ state }) => state === "Complete")).toBe(true), WAIT);
}

const items = async (): Promise<any[]> => (await proxied.http("/sessionrecordings", { key: proxied.admin })).body.items;

async function open(path = "/recordings"): Promise<void> {
  await page.goto(proxied.server.url + path);
  await page.getByRole("heading", { level: 1, name: "Recordings" }).waitFor();
}

const rows = () => page.locator("tbody tr:not(.spacer)");

it("is in the navigation, lists the newest first, and opens one with the command that plays it", async () => {
  await page.goto(proxied.server.url);
  await page.getByRole("navigation").getByRole("link", { name: "Recordings", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Recordings" }).waitFor();
  await expect.poll(() => rows().count(), WAIT).toBe(3);
  expect(await rows().first().textContent()).toMatch(
    /default\/pods\/default\/web[\s\S]*echo three[\s\S]*admin[\s\S]*Complete/,
  );
  // With the keyboard alone.
  await page.locator("button.row-link").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Session of admin in web" });
  await dialog.waitFor();
  const [, item] = await items();
  expect(item.command).toEqual(["echo", "two"]);
  await dialog.getByText(`postern recording play ${item.name}`, { exact: true }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("link", { name: "Download for asciinema" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`${item.name}.cast`);
  const lines = (await readFile(await download.path(), "utf8")).trim().split("\n");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ version: 2, command: "echo two" });
  expect(JSON.parse(lines[1] ?? "")).toEqual([expect.any(Number), "o", "two\n"]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

it("finds by user, project, cluster, pod and time, and says so in the address", async () => {
  await open();
  await page.getByLabel("Pod", { exact: true }).fill("other");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.getByText("No recordings").waitFor();
  expect(new URL(page.url()).search).toBe("?pod=other");
  for (const [query, count] of [
    ["?project=default&user=admin&pod=web", 3],
    ["?user=jane", 0],
    ["?cluster=eu", 0],
  ] as const) {
    await open(`/recordings${query}`);
    if (count === 0) await page.getByText("No recordings").waitFor();
    await expect.poll(() => rows().count(), WAIT).toBe(count);
  }
});

it("goes on to older recordings", async () => {
  await page.route(/\/sessionrecordings\?/, (route) =>
    route.continue({ url: route.request().url().replace("limit=200", "limit=2") }),
  );
  await open();
  await expect.poll(() => rows().count(), WAIT).toBe(2);
  await page.getByRole("button", { name: "Show older" }).click();
  await expect.poll(() => rows().count(), WAIT).toBe(3);
  await page.getByText("3 recordings").waitFor();
  expect(await page.getByRole("button", { name: "Show older" }).count()).toBe(0);
  await page.unrouteAll();
});

it("is whole at four widths, and axe-core finds nothing in both themes, in the list and in a recording", async () => {
  // A command that is longer than any column, and one whose server was ended.
  await session(["sh", "-c", `echo ${"long ".repeat(40)}`]);
  const [{ name }] = await items();
  await open();
  for (const isOpened of [false, true]) {
    if (isOpened) {
      await page.locator("button.row-link").first().click();
      await page.getByText(`postern recording play ${name}`, { exact: true }).waitFor();
    }
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await expect.poll(() => layoutFaults(page), WAIT).toEqual([]);
    }
    await page.evaluate(axe.source);
    await page.evaluate(WITHOUT_TRANSITIONS);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await axeFindings(page, `recordings ${colorScheme}`)).toEqual([]);
    }
  }
});

it("shows a session that goes on, and one whose server was ended", async () => {
  const query = new URLSearchParams({ stdout: "true" });
  for (const word of ["sh", "-c", "echo begun; exec sleep 1000"]) query.append("command", word);
  const socket = new WebSocket(
    `${proxied.server.url.replace("https", "wss")}${POD_PATH}/exec?${query}`,
    ["v5.channel.k8s.io"],
    { agent: new Agent({ rejectUnauthorized: false }), headers: { authorization: `Bearer ${proxied.admin}` } },
  );
  await once(socket, "open");
  await open();
  await expect.poll(() => rows().first().textContent(), WAIT).toContain("Goes on");
  const [{ name }] = await items();
  const long = new Date(Date.now() - 600_000);
  await utimes(join(directory, `${name}.cast.part`), long, long);
  await open();
  await expect.poll(() => rows().first().textContent(), WAIT).toContain("Broke off");
  socket.terminate();
});

it("says to others that they may not see them", async () => {
  await proxied.post(`${MANAGEMENT}/users`, { metadata: { name: "olga" }, spec: {} });
  const { spec } = await proxied.post(`${MANAGEMENT}/ownedaccesskeys`, {
    metadata: { name: "o" },
    spec: { user: "olga" },
  });
  const other = await (await newPerson(browser)).newPage();
  await other.goto(`${proxied.server.url}/recordings`);
  await signInAs(other, spec.key);
  await other.getByText("Only administrators can see recordings.").waitFor();
  expect(await other.getByRole("navigation").getByRole("link", { name: "Recordings", exact: true }).count()).toBe(0);
  await other.context().close();
});
