// Sessions through a real proxy and real sockets, with clusters that misbehave and disks that fail.

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { serveProxy } from "../proxy/testing/serve-proxy.ts";
import { EXEC, targetOf } from "../proxy/testing/serve-upgrades.ts";
import { serveUpstream } from "../proxy/testing/serve-upstream.ts";
import { RecordedStreams } from "./recorded-streams.ts";
import { RecordingsFullError } from "./recording-file.ts";
import type { OpenRecording } from "./recordings-directory.ts";
import { type FinishedRecording, SessionRecorder } from "./session-recorder.ts";

const PROTOCOL = "v5.channel.k8s.io";
const accept = (key: string): string =>
  createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");

/** The head of a frame of a server. */
function head(length: number, first = 0x82): Buffer {
  const bytes = Buffer.alloc(10);
  bytes[0] = first;
  bytes[1] = 127;
  bytes.writeBigUInt64BE(BigInt(length), 2);
  return bytes;
}
const frame = (channel: number, payload: Buffer | string, first?: number): Buffer => {
  const content = Buffer.concat([Buffer.from([channel]), Buffer.from(payload)]);
  return Buffer.concat([head(content.length, first), content]);
};

type Disk = { write?: (text: string) => Promise<void>; reserve?: (bytes: number) => Promise<void> | undefined };

function memoryRecording(disk: Disk): { readonly recording: OpenRecording; readonly texts: string[] } {
  const texts: string[] = [];
  const writer = {
    size: 0,
    reserve: disk.reserve ?? (() => undefined),
    async write(text: string) {
      await disk.write?.(text);
      texts.push(text);
      writer.size += text.length;
    },
    finish: async () => "whole",
    abandon: async () => "broken",
    close: async () => undefined,
  };
  // The class has private members.
  const recording = {
    name: "r",
    writer,
    end: () => {},
    complete: async () => {},
    discard: async () => {},
  } as never as OpenRecording;
  return { recording, texts };
}

type Options = {
  readonly isRequired: boolean;
  readonly input?: boolean;
  readonly maxBytes?: number;
  readonly disk?: Disk;
};

async function openSession(
  { isRequired, input = false, maxBytes = 1 << 20, disk = {} }: Options,
  onSession: (socket: Duplex) => void,
) {
  const upstream = await serveUpstream((_request, response) => void response.writeHead(404).end());
  upstream.server.on("upgrade", (request: { headers: Record<string, string> }, socket: Duplex) => {
    socket.on("error", () => undefined);
    const lines = ["Upgrade: websocket", "Connection: Upgrade", `Sec-WebSocket-Protocol: ${PROTOCOL}`];
    lines.push(`Sec-WebSocket-Accept: ${accept(request.headers["sec-websocket-key"] ?? "")}`);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
    onSession(socket);
  });
  const { recording, texts } = memoryRecording(disk);
  let finished: FinishedRecording | undefined;
  const tap = (): RecordedStreams => {
    const recorder = new SessionRecorder({
      recording,
      header: { timestamp: 0, title: "t" },
      maxBytes,
      isRequired,
      runtime: systemRuntime,
    });
    const onEnd = async (): Promise<void> => {
      finished = await recorder.finish();
    };
    const { scheduler } = systemRuntime;
    return new RecordedStreams({ recorder, isRequired, input, asksForProtocol: true, scheduler, onEnd });
  };
  const { port, faults } = await serveProxy(targetOf(upstream), { tap });
  const socket = new WebSocket(`wss://127.0.0.1:${port}${EXEC}`, [PROTOCOL], { rejectUnauthorized: false });
  onTestFinished(() => socket.terminate());
  const received: Buffer[] = [];
  let closeCode = 0;
  socket.on("message", (data: Buffer) => received.push(data)).on("error", () => undefined);
  socket.on("close", (code) => {
    closeCode = code;
  });
  await once(socket, "open");
  return {
    socket,
    received,
    faults,
    code: () => closeCode,
    /** Not before the client has all that was sent to it: the last frames may still be on their way when the recording ends. */
    finished: () => (closeCode === 0 ? undefined : finished),
    head: () => JSON.parse(texts.join("").split("\n")[0] ?? ""),
    /** Behind the head. */
    events: (): [number, string, string][] =>
      texts
        .join("")
        .trim()
        .split("\n")
        .slice(1)
        .map((line) => JSON.parse(line)),
    status: () =>
      JSON.parse(
        received
          .findLast((message) => message[0] === 3)
          ?.subarray(1)
          .toString() ?? "{}",
      ),
  };
}

describe("a recorded session", () => {
  it("passes bytes on unchanged, and has the characters that are cut between messages", async () => {
    const euro = Buffer.from("€");
    const session = await openSession({ isRequired: true }, (socket) => {
      socket.write(Buffer.concat([frame(1, euro.subarray(0, 1)), frame(1, euro.subarray(1)), frame(2, "err")]));
      socket.end(Buffer.from([0x88, 2, 3, 232]));
    });
    await expect.poll(session.finished).toEqual({ sha256: "whole", fault: undefined });
    expect(session.received.map((message) => [message[0], message.subarray(1).toString("hex")])).toEqual([
      [1, "e2"],
      [1, "82ac"],
      [2, "657272"],
    ]);
    expect(session.events().map(([, code, text]) => code + text)).toEqual(["o€", "oerr"]);
  });

  it("keeps the size that is known where a terminal says 0 or no whole number", async () => {
    const messages = [
      { Width: 0, Height: 0 },
      { Width: 1.5, Height: 24 },
      { Width: 100, Height: 30 },
      { Width: 0, Height: 30 },
      { Width: 90, Height: 20 },
    ].map((size) => Buffer.concat([Buffer.from([4]), Buffer.from(JSON.stringify(size))]));
    const session = await openSession({ isRequired: true }, (target) => {
      // Frames of a client have a head of six bytes.
      let missing = messages.reduce((sum, { length }) => sum + 6 + length, 0);
      target.on("data", ({ length }: Buffer) => {
        missing -= length;
        if (missing === 0) target.end(Buffer.from([0x88, 2, 3, 232]));
      });
    });
    for (const message of messages) session.socket.send(message);
    await expect.poll(session.finished).toEqual({ sha256: "whole", fault: undefined });
    expect(session.head()).toMatchObject({ width: 100, height: 30 });
    expect(session.events().map(([, code, text]) => code + text)).toEqual(["r90x20"]);
  });

  it("ends with a cause where its recording must not break off, in the middle of a long frame as well", async () => {
    const length = 900_000;
    const session = await openSession({ isRequired: true, maxBytes: 200_000 }, (socket) => {
      socket.write(frame(1, Buffer.alloc(length, "x")));
    });
    await expect.poll(session.finished).toMatchObject({ fault: { reason: "SizeLimit" } });
    expect(session.received[0]?.length).toBe(length + 1);
    const shown = session.received[0]?.toString().replaceAll(/[^x]/g, "").length ?? 0;
    const recorded = session
      .events()
      .filter(([, code]) => code === "o")
      .map(([, , text]) => text)
      .join("");
    expect(recorded.length).toBeGreaterThanOrEqual(shown);
    expect(session.status()).toMatchObject({ status: "Failure", details: { causes: [{ reason: "SizeLimit" }] } });
    expect(session.code()).toBe(1000);
  });

  it("goes on where its recording may break off", async () => {
    const sent = Buffer.alloc(900_000, "x");
    const session = await openSession({ isRequired: false, maxBytes: 200_000 }, (socket) => {
      socket.write(frame(1, sent));
      socket.write(frame(1, "after"));
    });
    await expect.poll(() => session.received.at(-1)?.toString()).toBe("\u0001after");
    expect(session.received[0]?.subarray(1).equals(sent)).toBe(true);
    session.socket.terminate();
    await expect.poll(session.finished).toMatchObject({ sha256: "whole", fault: { reason: "SizeLimit" } });
    expect(session.events().at(-1)?.slice(1)).toEqual(["m", expect.stringContaining("largest size")]);
  });

  it.each([true, false])(
    "ends with the disk where it must be recorded, and else goes on (must: %s)",
    async (isRequired) => {
      const disk: Disk = {
        async write() {
          throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
        },
      };
      let target: Duplex | undefined;
      const session = await openSession({ isRequired, disk }, (socket) => {
        target = socket;
        socket.write(frame(1, "first"));
      });
      if (!isRequired) await expect.poll(() => session.received.length).toBe(1);
      // The write fails a quarter of a second later.
      const sending = setInterval(() => target?.writable && target.write(frame(1, "more")), 50);
      onTestFinished(() => clearInterval(sending));
      if (isRequired) {
        await expect.poll(session.finished, { timeout: 5_000 }).toMatchObject({ sha256: "broken" });
        expect(session.status().details.causes[0].reason).toBe("WriteFailed");
        // Nothing was shown that is not in the file.
        expect(session.received.filter((message) => message[0] === 1)).toEqual([]);
      } else {
        await expect.poll(() => session.received.length, { timeout: 5_000 }).toBeGreaterThan(20);
        session.socket.terminate();
        await expect.poll(session.finished).toMatchObject({ fault: { reason: "WriteFailed" } });
      }
      expect(session.faults).toEqual([]);
    },
  );

  it.each([true, false])("shows no byte that has no room, where it must be recorded (must: %s)", async (isRequired) => {
    let reserved = 0;
    let written = 0;
    const disk: Disk = {
      async reserve(bytes) {
        if (written + bytes > 100_000) throw new RecordingsFullError();
        reserved = written + bytes;
      },
      async write(text) {
        await new Promise((resolve) => setTimeout(resolve, isRequired ? 5 : 300));
        written += text.length;
      },
    };
    const session = await openSession({ isRequired, disk }, (socket) => {
      socket.write(frame(1, "before"));
      for (let sent = 0; sent < 20; sent++) socket.write(frame(1, Buffer.alloc(10_000, "x")));
      if (!isRequired) socket.end(Buffer.from([0x88, 2, 3, 232]));
    });
    await expect.poll(session.finished, { timeout: 5_000 }).toMatchObject({ fault: { reason: "TotalLimit" } });
    const output = session.events().flatMap(([, code, text]) => (code === "o" ? [text] : []));
    const shown = session.received
      .filter((message) => message[0] === 1)
      .map((message) => message.subarray(1).toString());
    if (isRequired) {
      // The rest of a frame that had begun is zeros.
      expect(output.join("").startsWith(shown.join("").replace(/\0+$/, ""))).toBe(true);
      expect(session.status().details.causes[0].reason).toBe("TotalLimit");
    } else {
      expect(shown.join("").length).toBe(200_006);
    }
    expect(output.join("").length).toBeLessThan(reserved);
    expect(session.events().at(-1)?.slice(1)).toEqual(["m", expect.stringContaining("no more room")]);
  });

  it.each([true, false])(
    "waits for a slow disk, without holding what comes meanwhile (must: %s)",
    async (isRequired) => {
      let most = 0;
      const disk: Disk = {
        async write(text) {
          most = Math.max(most, text.length);
          await new Promise((resolve) => setTimeout(resolve, 20));
        },
      };
      const total = isRequired ? 2 << 20 : 8 << 20;
      const session = await openSession({ isRequired, disk, maxBytes: 1 << 30 }, (socket) => {
        for (let sent = 0; sent < total; sent += 32 << 10) socket.write(frame(1, Buffer.alloc(32 << 10, "x")));
        socket.end(Buffer.from([0x88, 2, 3, 232]));
      });
      await expect.poll(session.finished).toEqual({ sha256: "whole", fault: undefined });
      const output = session
        .events()
        .filter(([, code]) => code === "o")
        .map(([, , text]) => text)
        .join("");
      expect([output.length, session.received.reduce((sum, { length }) => sum + length - 1, 0)]).toEqual([
        total,
        total,
      ]);
      expect(most).toBeLessThan(2 << 20);
    },
  );

  it.each([
    ["bytes at random", randomBytes(64)],
    ["a compressed frame", frame(1, "x", 0xc2)],
    ["a frame with a mask", Buffer.from([0x82, 0x81, 1, 2, 3, 4, 5])],
  ])("ends where it must be recorded and cannot be read: %s", async (_what, bytes) => {
    bytes[0] = (bytes[0] ?? 0) | 0x70;
    const session = await openSession({ isRequired: true }, (socket) => {
      socket.write(frame(1, "before"));
      setTimeout(() => socket.write(bytes), 50);
    });
    await expect.poll(session.finished).toMatchObject({ fault: { reason: "UnreadableStream" } });
    expect(session.received[0]?.toString()).toBe("\u0001before");
    expect(session.status().details.causes[0].reason).toBe("UnreadableStream");
  });

  it("ends with a client that breaks off, and with a cluster that does", async () => {
    for (const ends of ["client", "cluster"]) {
      let target: Duplex | undefined;
      const session = await openSession({ isRequired: true }, (socket) => {
        target = socket;
        socket.write(frame(1, "seen"));
      });
      await expect.poll(() => session.received.length).toBe(1);
      if (ends === "client") session.socket.terminate();
      else target?.destroy();
      await expect.poll(session.finished).toMatchObject({ fault: undefined });
      await expect.poll(() => target?.destroyed).toBe(true);
      expect(session.events().at(-1)).toEqual([expect.any(Number), "o", "seen"]);
    }
  });
});
