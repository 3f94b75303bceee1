// Starts a systemd of its own, as process 1 of new namespaces: a machine with nothing in /etc, /var and /usr/local, the tools of this machine's
// /usr, and a loopback interface. Needs root, and a kernel with cgroup v2.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect } from "vitest";
import { succeed, tool } from "../../e2e/testing/postern-process.ts";

export type Machine = AsyncDisposable & {
  /** Prefix of a command line that is to run on it. */
  readonly run: readonly string[];
};

const HOSTS = "127.0.0.1 localhost postern.example.com";
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];

/** The root of the machine; `/root` is the folder. */
const boot = (root: string, home: string): string => `
mount --make-rprivate /
mount -t tmpfs tmpfs ${root}
cd ${root}
mkdir -p usr etc/systemd/system proc sys dev run tmp var root old
for name in bin sbin lib lib64; do ln -s usr/$name $name; done
mount --rbind /usr usr && mount -o remount,bind,ro usr
mount -t tmpfs tmpfs usr/local && mkdir -p usr/local/bin
cp /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache etc/
cp --archive /etc/alternatives etc/
echo '${HOSTS}' > etc/hosts
systemd-id128 new > etc/machine-id
mount --bind ${home} root
mount -t tmpfs tmpfs dev && mkdir dev/pts dev/shm && ln -s /proc/self/fd dev/fd && ln -s fd/0 dev/stdin
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts && ln -s pts/ptmx dev/ptmx
for name in ${DEVICES.join(" ")}; do touch dev/$name && mount --bind /dev/$name dev/$name; done
ln -s null dev/console
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
ip link set lo up
pivot_root . old && umount -l old
mount --make-rshared /
exec env -i container=postern PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin \\
  /lib/systemd/systemd --system --unit=basic.target --log-level=err < /dev/null > /dev/null 2>&1
`;

/** Resolves when it has booted. `home` is `/root` on it. */
export async function startMachine(home: string): Promise<Machine> {
  const folder = mkdtempSync(join(tmpdir(), "postern-machine-"));
  const cgroups = existsSync("/sys/fs/cgroup/cgroup.procs") ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified";
  const cgroup = join(cgroups, basename(folder));
  const unshare = "unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child sh -euc";
  const script = `mkdir ${cgroup} && echo $$ > ${cgroup}/cgroup.procs && exec ${unshare} "$1"`;
  const child = spawn("sh", ["-euc", script, "sh", boot(folder, home)], { stdio: ["ignore", "ignore", "pipe"] });
  let printed = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (printed += text));
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
    // Its processes end with process 1, and their control groups are empty then.
    await expect.poll(() => tool("find", [cgroup, "-depth", "-type", "d", "-delete"]).then(({ code }) => code)).toBe(0);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    let first = "";
    const isSystemd = async (): Promise<boolean> => {
      first = (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8")).trim();
      return (await readFile(`/proc/${first}/comm`, "utf8").catch(() => "")) === "systemd\n";
    };
    await expect.poll(isSystemd).toBe(true);
    const run = ["nsenter", "--target", first, "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup"];
    const state = async (): Promise<string> => {
      const [program = "", ...args] = [...run, "systemctl", "is-system-running"];
      const { stdout, stderr } = await tool(program, args);
      return `${stdout}${stderr}${printed}`;
    };
    await expect.poll(state).toMatch(/^(running|degraded)/);
    return { run, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs a script of bash in `/root` on it that ends at the first error, and returns what it printed. */
export async function runScript({ run }: Machine, script: string): Promise<string> {
  const [program = "", ...args] = [...run, "bash", "-euo", "pipefail", "-c", `cd /root\n${script}`];
  return await succeed(tool(program, args));
}
