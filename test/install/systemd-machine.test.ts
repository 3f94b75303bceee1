// The systemd unit on a machine whose first process is systemd, with the single file, installed as the guide says.

import { readFileSync } from "node:fs";
import { copyFile, mkdir, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { writeChecksums, writeSingleFiles } from "../../tools/release/single-file.ts";
import { REPOSITORY, temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { runScript, startMachine } from "./testing/run-systemd.ts";
import { takeTour } from "./testing/tour.ts";

const ARCHITECTURE = process.arch === "arm64" ? "arm64" : "x64";
const UNIT = join(REPOSITORY, "deploy/systemd/postern.service");

it("runs the single file under systemd, installed by the commands of the guide", async () => {
  await using directory = await temporaryDirectory();
  const home = join(directory.path, "home");
  await mkdir(join(home, "deploy/systemd"), { recursive: true });
  await copyFile(UNIT, join(home, "deploy/systemd/postern.service"));
  const written = await writeSingleFiles([ARCHITECTURE], home);
  writeChecksums(
    home,
    written.map((path) => basename(path)),
  );
  // The guide is written for x64.
  const [single = ""] = written;
  const program = join(home, "postern-linux-x64");
  await rename(single, program);
  if (single !== program) writeChecksums(home, [basename(program)]);

  await using machine = await startMachine(home);
  const guide = readFileSync(join(REPOSITORY, "docs/operations/installing.md"), "utf8");
  const sudo = 'sudo() { "$@"; }\n';
  const [, check = ""] = blocksOf(guide, "One file");
  const [install = "", kubeconfig = ""] = blocksOf(guide, "systemd");
  const [, , tour = ""] = blocksOf(guide, "The tour elsewhere");
  await runScript(machine, sudo + check);
  await rename(program, join(directory.path, "kept"));
  const printed = await runScript(machine, sudo + install);
  expect(printed).toContain("Active: active (running)");
  // The unit is of type exec: it has started before it is ready.
  await expect
    .poll(() => runScript(machine, "journalctl --unit postern --output cat"))
    .toContain("Postern is ready at");
  await runScript(machine, sudo + kubeconfig + tour);
  expect(readFileSync(join(home, "admin.kubeconfig"), "utf8")).toContain("server: https://postern.example.com:8443");
  // The tour as the README has it; `/root` is the reader's folder.
  await takeTour({
    url: "https://127.0.0.1:8443",
    directory: home,
    at: "/root",
    // The last line of the block, for another shell.
    command: ["env", "POSTERN_DATA_DIR=data", "/usr/local/bin/postern"],
    run: machine.run,
  });

  const show = await runScript(machine, "systemctl show postern --property User,MainPID,NRestarts,DynamicUser");
  expect(show).toMatch(/^DynamicUser=yes$/m);
  expect(show).toMatch(/^NRestarts=0$/m);
  const status = await runScript(machine, "cat /proc/$(systemctl show postern --property MainPID --value)/status");
  expect(status).not.toMatch(/^Uid:\s+0\s/m);
  expect(status).toMatch(/^CapEff:\s+0+$/m);
  expect(status).toMatch(/^Seccomp:\s+2$/m);
  // It comes back after a crash, finds its key, and stops when it is asked to.
  await runScript(machine, "systemctl kill --signal=KILL postern");
  await expect
    .poll(() => runScript(machine, "journalctl --unit postern --output cat | grep -c 'Postern is ready at'"))
    .toBe("2\n");
  await runScript(machine, "kubectl --kubeconfig admin.kubeconfig get ownedaccesskeys");
  await runScript(machine, "systemctl stop postern");
  expect(await runScript(machine, "systemctl show postern --property Result,ExecMainStatus")).toMatch(
    /ExecMainStatus=0/,
  );
});

/** The commands of a section of the guide, block by block. */
function blocksOf(page: string, heading: string): readonly string[] {
  const [, after = ""] = page.split(`\n## ${heading}\n`);
  const [section = ""] = after.split(/^## /m);
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
}
