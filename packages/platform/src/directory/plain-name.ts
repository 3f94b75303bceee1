// Which texts are names: people read them in tables and on pages, and tell one from another by what they see.

/** Controls, halves of characters, line ends, and what is written and not seen, or turns the direction of writing. */
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

export const withoutUnseen = (text: string): string => text.replaceAll(UNSEEN, "");

export const isPlainName = (text: string): boolean => withoutUnseen(text).trim() === text;
