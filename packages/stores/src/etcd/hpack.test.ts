import { once } from "node:events";
import { createServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeHeaders, encodeHeaders } from "./hpack.ts";
import { FrameReader, FrameWriter, flag, frameType, settingsOf } from "./http2-frames.ts";

const decoded = (hex: string) => [...decodeHeaders(Buffer.from(hex.replaceAll(" ", ""), "hex"))];

describe("header blocks", () => {
  test.each([
    // RFC 7541 appendix C.2, C.4.1 and C.6.1.
    ["400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", [["custom-key", "custom-header"]]],
    ["040c 2f73 616d 706c 652f 7061 7468", [[":path", "/sample/path"]]],
    ["1008 7061 7373 776f 7264 0673 6563 7265 74", [["password", "secret"]]],
    ["82", [[":method", "GET"]]],
    [
      "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
      [
        [":method", "GET"],
        [":scheme", "http"],
        [":path", "/"],
        [":authority", "www.example.com"],
      ],
    ],
    [
      "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
      [
        [":status", "302"],
        ["cache-control", "private"],
        ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
        ["location", "https://www.example.com"],
      ],
    ],
    // A change of the table's size before the first field.
    ["20 88", [[":status", "200"]]],
  ])("%s", (hex, fields) => {
    expect(decoded(hex)).toEqual(fields);
  });

  test.each([
    ["a field of the dynamic table", "be"],
    ["no field", "80"],
    ["a text that ends too early", "0005 61"],
    ["a block that ends after a name", "0001 61"],
    ["an integer without an end", "0f ff ff ff ff ff ff ff"],
    ["a padding of more than seven bits", "0001 6182 1fff"],
    ["a padding with a zero", "0001 6181 18"],
    ["the end of a text inside of it", "0001 6184 ffff ffff"],
  ])("refuses %s", (_, hex) => {
    expect(() => decoded(hex)).toThrow(RangeError);
  });

  test("decodes what it encodes", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40_000, unit: "binary-ascii" }), (value) => {
        const fields = [
          ["a", value],
          [value || "b", "c"],
        ] as const;
        expect(decodeHeaders(encodeHeaders(fields))).toEqual(new Map(fields));
      }),
    );
  });

  test("throws nothing but RangeError, whatever comes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          decodeHeaders(Buffer.from(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("decodes the fields of another implementation, with every character", async () => {
    const values = Array.from({ length: 96 }, (_, index) => String.fromCharCode(32 + index).repeat(index % 7));
    // Characters of short codes make the other side use the Huffman code.
    const fields = values.map((value, index) => [`x-${index}`, `aeiou${value}0123aeiou`] as const);
    const server = createServer({ settings: {} }).listen(0, "127.0.0.1");
    server.on("stream", (stream) => stream.respond(Object.fromEntries(fields), { endStream: true }));
    await once(server, "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const block = await new Promise<Buffer>((resolve) => {
      const reader = new FrameReader((type, flags, _, payload) => {
        if (type === frameType.headers && (flags & flag.endHeaders) !== 0) resolve(Buffer.from(payload));
      });
      socket.on("data", (chunk: Buffer) => reader.take(chunk));
      const writer = new FrameWriter(socket);
      writer.raw(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
      writer.frame(frameType.settings, 0, 0, settingsOf([[1, 0]]));
      const request = encodeHeaders([
        [":method", "GET"],
        [":scheme", "http"],
        [":path", "/"],
        [":authority", "localhost"],
      ]);
      writer.frame(frameType.headers, flag.endHeaders | flag.endStream, 1, request);
    });
    socket.destroy();
    server.close();
    const received = decodeHeaders(block);
    expect(received.get(":status")).toBe("200");
    // Spaces around a value are no part of it.
    for (const [name, value] of fields) expect(received.get(name)).toBe(value.trim());
    expect(block.length).toBeLessThan(fields.join("").length);
  });
});
