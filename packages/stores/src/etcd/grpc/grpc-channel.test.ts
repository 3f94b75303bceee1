// The channel against a server of another maker, and against servers that keep to no protocol.

import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GrpcChannel, type GrpcMethod } from "./grpc-channel.ts";
import { GrpcError, grpcStatus } from "./grpc-error.ts";

const PATIENCE_MS = 30_000;
const bytes: Pick<GrpcMethod<Buffer, Buffer>, "serialize" | "deserialize"> = {
  serialize: (message) => message,
  deserialize: (message) => message,
};
const ECHO = { path: "/test.Echo/Once", ...bytes };
const STREAM = { path: "/test.Echo/Stream", ...bytes };
const FAIL = { path: "/test.Echo/Fail", ...bytes };
const SILENT = { path: "/test.Echo/Silent", ...bytes };

const failure = async (call: Promise<unknown>): Promise<GrpcError> => {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof GrpcError)) throw new Error("no failure of gRPC", { cause: error });
  return error;
};

describe("a server of another maker", () => {
  const server = new Server({ "grpc.max_receive_message_length": -1 });
  let address = "";
  let channel: GrpcChannel;
  const method = (path: string, isStream = false) => ({
    path,
    requestStream: isStream,
    responseStream: isStream,
    requestSerialize: bytes.serialize as (value: Buffer) => Buffer,
    requestDeserialize: bytes.deserialize,
    responseSerialize: bytes.serialize as (value: Buffer) => Buffer,
    responseDeserialize: bytes.deserialize,
  });

  beforeAll(async () => {
    server.addService(
      {
        Once: method(ECHO.path),
        Fail: method(FAIL.path),
        Silent: method(SILENT.path),
        Stream: method(STREAM.path, true),
      },
      {
        Once: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => answer(null, call.request),
        Fail: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) =>
          answer({
            code: status.RESOURCE_EXHAUSTED,
            details: call.request.toString(),
            metadata: new Metadata(),
          }),
        Silent: () => undefined,
        Stream: (call: ServerDuplexStream<Buffer, Buffer>) => {
          call.on("data", (message: Buffer) => {
            if (message.length === 0) call.end();
            else call.write(message);
          });
          call.on("error", () => undefined);
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    address = `127.0.0.1:${port}`;
    channel = new GrpcChannel({ address });
  });
  afterAll(() => {
    channel[Symbol.dispose]();
    server.forceShutdown();
  });

  test("messages of any size come back as they were, many at once", async () => {
    const sizes = [0, 1, 16_383, 65_536, 5 << 20, ...Array.from({ length: 200 }, (_, index) => index)];
    const messages = sizes.map((size, index) => Buffer.alloc(size, String(index)));
    const answers = await Promise.all(messages.map((message) => channel.call(ECHO, message, PATIENCE_MS)));
    for (const [index, answer] of answers.entries()) expect(answer.equals(messages[index]!)).toBe(true);
  });

  test("an error carries the status and the text of the server", async () => {
    const text = "100 % of the disk, naïve 💾\nnext line";
    const error = await failure(channel.call(FAIL, Buffer.from(text), PATIENCE_MS));
    expect(error).toMatchObject({ code: grpcStatus.resourceExhausted, details: text, isUnsent: false });
  });

  test("a method that there is not", async () => {
    const error = await failure(channel.call({ path: "/test.Echo/None", ...bytes }, Buffer.alloc(1), PATIENCE_MS));
    expect(error.code).toBe(grpcStatus.unimplemented);
  });

  test("a call without an answer ends with its time, and leaves the connection to others", async () => {
    const error = await failure(channel.call(SILENT, Buffer.alloc(1), 20));
    expect(error).toMatchObject({ code: grpcStatus.deadlineExceeded, isUnsent: false });
    expect((await channel.call(ECHO, Buffer.from("a"), PATIENCE_MS)).toString()).toBe("a");
  });

  test("a signal ends a call with its reason, before and while it runs", async () => {
    const reason = new Error("the client has gone");
    await expect(channel.call(ECHO, Buffer.alloc(1), PATIENCE_MS, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    const abort = new AbortController();
    const call = channel.call(SILENT, Buffer.alloc(1), PATIENCE_MS, { signal: abort.signal });
    abort.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  test("streams carry messages both ways, in order, until one side ends them", async () => {
    const received: string[] = [];
    const end = await new Promise<GrpcError>((resolve) => {
      const stream = channel.stream(STREAM, { message: (message) => received.push(message.toString()), end: resolve });
      for (const word of ["one", "two", "three"]) stream.write(Buffer.from(word));
      stream.write(Buffer.alloc(0));
    });
    expect(received).toEqual(["one", "two", "three"]);
    expect(end.code).toBe(grpcStatus.ok);
  });

  test("a cancelled stream delivers nothing more", async () => {
    let told = 0;
    await new Promise<void>((resolve) => {
      const stream = channel.stream(STREAM, {
        message: () => {
          told++;
          stream.cancel();
          resolve();
        },
        end: () => {
          told += 100;
        },
      });
      stream.write(Buffer.from("one"));
      stream.write(Buffer.from("two"));
    });
    await channel.call(ECHO, Buffer.alloc(1), PATIENCE_MS);
    expect(told).toBe(1);
  });

  test("a channel that is closed ends what is under way, and takes no more", async () => {
    const closing = new GrpcChannel({ address });
    await closing.call(ECHO, Buffer.alloc(1), PATIENCE_MS);
    const ended = new Promise<GrpcError>((end) => closing.stream(STREAM, { message: () => undefined, end }));
    const call = failure(closing.call(SILENT, Buffer.alloc(1), PATIENCE_MS));
    closing[Symbol.dispose]();
    expect((await call).code).toBe(grpcStatus.unavailable);
    expect((await ended).code).toBe(grpcStatus.unavailable);
    expect(await failure(closing.call(ECHO, Buffer.alloc(1), PATIENCE_MS))).toMatchObject({ isUnsent: true });
  });
});

describe("a server that does as it likes", () => {
  let server: Http2Server;
  let channel: GrpcChannel;
  let answer: (stream: ServerHttp2Stream, session: ServerHttp2Session) => void;
  beforeAll(async () => {
    server = createServer().listen(0, "127.0.0.1");
    server.on("stream", (stream) => {
      stream.on("error", () => undefined);
      answer(stream, stream.session as ServerHttp2Session);
    });
    await once(server, "listening");
    channel = new GrpcChannel({ address: `127.0.0.1:${(server.address() as AddressInfo).port}` });
  });
  afterAll(() => {
    channel[Symbol.dispose]();
    server.close();
  });
  const call = () => channel.call(ECHO, Buffer.from("x"), PATIENCE_MS);
  const good = (stream: ServerHttp2Stream, pieces: readonly Buffer[] = [frame(Buffer.from("x"))]): void => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    for (const piece of pieces) stream.write(piece);
    stream.end();
  };
  const frame = (message: Buffer, flag = 0): Buffer => {
    const head = Buffer.from([flag, 0, 0, 0, 0]);
    head.writeUInt32BE(message.length, 1);
    return Buffer.concat([head, message]);
  };

  test.each([
    [503, grpcStatus.unavailable],
    [401, grpcStatus.unauthenticated],
    [403, grpcStatus.permissionDenied],
    [404, grpcStatus.unimplemented],
    [500, grpcStatus.unknown],
  ])("HTTP status %s without gRPC becomes status %s", async (httpStatus, code) => {
    answer = (stream) => stream.respond({ ":status": httpStatus }, { endStream: true });
    expect((await failure(call())).code).toBe(code);
  });

  test.each([
    ["nothing", []],
    ["less than it says", [Buffer.from([0, 0, 0, 0, 9, 1])]],
    ["more than it says", [Buffer.from([0, 0, 0, 0, 1, 1, 1])]],
    ["something compressed", [frame(Buffer.from("x"), 1)]],
  ])("%s in place of a message is an error", async (_, pieces) => {
    answer = (stream) => good(stream, pieces);
    expect((await failure(call())).code).toBe(grpcStatus.internal);
  });

  test("a stream that is refused may be sent again; one that is broken off may have had its effect", async () => {
    answer = (stream) => stream.close(0x7);
    expect(await failure(call())).toMatchObject({ code: grpcStatus.unavailable, isUnsent: true });
    answer = (stream) => stream.close(0x2);
    expect(await failure(call())).toMatchObject({ code: grpcStatus.unavailable, isUnsent: false });
    answer = (stream) => stream.respond({ ":status": 200 }, { endStream: true });
    expect(await failure(call())).toMatchObject({ code: grpcStatus.unavailable, isUnsent: false });
    answer = (_, session) => session.destroy();
    expect(await failure(call())).toMatchObject({ code: grpcStatus.unavailable, isUnsent: false });
    answer = (stream) => good(stream);
    expect((await call()).toString()).toBe("x");
  });

  test("after GOAWAY the running call completes, and the next one uses a new connection", async () => {
    const sessions = new Set<ServerHttp2Session>();
    answer = (stream, session) => {
      sessions.add(session);
      session.goaway(0, stream.id);
      good(stream);
    };
    expect((await call()).toString()).toBe("x");
    await expect.poll(async () => (await call().catch(() => "again")).toString(), { timeout: PATIENCE_MS }).toBe("x");
    expect(sessions.size).toBeGreaterThan(1);
  });

  test("messages of a stream are complete, with any chunks", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 }),
        async (messages, lengths) => {
          const all = Buffer.concat(messages.map((message) => frame(Buffer.from(message))));
          const pieces: Buffer[] = [];
          for (let at = 0, turn = 0; at < all.length; turn++) {
            const next = at + (lengths[turn % lengths.length] ?? 1);
            pieces.push(all.subarray(at, next));
            at = next;
          }
          answer = (stream) => good(stream, pieces);
          const received: Buffer[] = [];
          const end = await new Promise<GrpcError>((resolve) => {
            channel.stream(STREAM, { message: (message) => received.push(message), end: resolve });
          });
          expect(end.code).toBe(grpcStatus.ok);
          expect(received.map((message) => message.toString("hex"))).toEqual(
            messages.map((message) => Buffer.from(message).toString("hex")),
          );
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("without a server", () => {
  test("where nothing listens a call fails at once, and nothing was sent", async () => {
    const channel = new GrpcChannel({ address: "127.0.0.1:1" });
    for (let count = 0; count < 3; count++) {
      expect(await failure(channel.call(ECHO, Buffer.alloc(1), PATIENCE_MS))).toMatchObject({
        code: grpcStatus.unavailable,
        details: "connect ECONNREFUSED 127.0.0.1:1",
        isUnsent: true,
      });
    }
    channel[Symbol.dispose]();
  });

  test("where a listener never answers, a call ends at its deadline and was not sent; closing ends it too", async () => {
    const sockets = new Set<Socket>();
    const server = createTcpServer((socket) => {
      sockets.add(socket.on("error", () => undefined));
      socket.resume();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const channel = new GrpcChannel({ address: `127.0.0.1:${(server.address() as AddressInfo).port}` });
    expect(await failure(channel.call(ECHO, Buffer.alloc(1), 20))).toMatchObject({ isUnsent: true });
    const impatient = channel.call(ECHO, Buffer.alloc(1), PATIENCE_MS, { connectMs: 20 });
    expect(await failure(impatient)).toMatchObject({ isUnsent: true });
    const waiting = failure(channel.call(ECHO, Buffer.alloc(1), PATIENCE_MS));
    const ended = new Promise<GrpcError>((end) => channel.stream(STREAM, { message: () => undefined, end }));
    channel[Symbol.dispose]();
    expect(await waiting).toMatchObject({ isUnsent: true });
    expect(await ended).toMatchObject({ isUnsent: true });
    for (const socket of sockets) socket.destroy();
    server.close();
  });
});
