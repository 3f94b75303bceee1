// Splits a YAML text into documents of tokens, and refuses collections that nest too deep before anything descends into them.

import { type CST, Lexer, type LineCounter, Parser } from "yaml";
import { YamlError } from "./yaml-error.ts";

/** Depth beside open collections: the document, and the current scalar. */
const OTHER_OPEN = 2;

/**
 * The package `yaml` calls itself for every level of a text, and V8 ends the whole process if it compiles a regular expression
 * where the stack has no room. No `catch` holds that, nor a thread: so the depth is known before the stack is used.
 * @throws YamlError
 */
export function* tokensWithinDepth(text: string, maxDepth: number, lines?: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines?.addNewLine);
  lines?.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > maxDepth + OTHER_OPEN) throw new YamlError("yaml: exceeded max depth");
  }
  yield* parser.end();
}

/**
 * For a text that another reader reads afterwards. `maxLexemes` bounds what the reader works on: names, values, line ends and the marks between them, however
 * long each is.
 * @throws YamlError
 */
export function expectYamlWithinDepth(text: string, maxDepth: number, maxLexemes = Number.POSITIVE_INFINITY): void {
  let lexemes = 0;
  for (const _ of new Lexer().lex(text)) {
    if (++lexemes > maxLexemes) throw new YamlError("yaml: exceeded max number of values");
  }
  for (const _ of tokensWithinDepth(text, maxDepth));
}
