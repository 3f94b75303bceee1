// An option of the configuration: names, type, default, description and rule.

/** Raw value of an option: text from flags and environment, several of them from a YAML list. */
export type RawValue = string | readonly string[];

export type Option<T> = {
  /** Without the leading dashes. The environment name follows from it: `secure-port` → `POSTERN_SECURE_PORT`. */
  readonly flag: string;
  /** How the reference and the help print the value, such as `<port>`; "" for a switch. */
  readonly placeholder: string;
  readonly type: "text" | "integer" | "number" | "switch" | "list";
  readonly default: T;
  /** Default as people read it, where it is worked out at the start. */
  readonly defaultText: string;
  /** One sentence without a period. */
  readonly description: string;
  /** Throws OptionValueError. */
  readonly parse: (raw: RawValue) => T;
};

/** Why a value is refused, as the end of a sentence that begins with the option's name. */
export class OptionValueError extends Error {
  override readonly name = "OptionValueError";
}

/** Gives the reason why a value is wrong, or undefined. */
export type Rule<T> = (value: T) => string | undefined;

type OptionInit<T> = {
  readonly flag: string;
  readonly description: string;
  readonly default: T;
  readonly defaultText?: string;
  readonly placeholder?: string;
  readonly rule?: Rule<T>;
};

export const textOption = (init: OptionInit<string>): Option<string> =>
  option("text", "<text>", init, (raw) => single(raw));

/** The default may be undefined: the server works out a number. */
export const integerOption = <Default extends number | undefined = number>(
  init: OptionInit<number | Default> & { readonly min: number; readonly max: number },
): Option<number | Default> =>
  option("integer", "<number>", init, (raw) => {
    const text = single(raw);
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= init.min && value <= init.max)) {
      throw new OptionValueError(`must be a whole number from ${init.min} to ${init.max}, not ${quote(text)}`);
    }
    return value;
  });

/** A decimal, such as 0.001. */
export const numberOption = (
  init: OptionInit<number> & { readonly min: number; readonly max: number },
): Option<number> =>
  option("number", "<number>", init, (raw) => {
    const text = single(raw);
    const value = /^\d{0,15}\.?\d{1,15}(e-?\d{1,2})?$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= init.min && value <= init.max)) {
      throw new OptionValueError(`must be a number from ${init.min} to ${init.max}, not ${quote(text)}`);
    }
    return value;
  });

export const switchOption = (init: OptionInit<boolean>): Option<boolean> =>
  option("switch", "", init, (raw) => {
    const text = single(raw);
    if (text === "true") return true;
    if (text === "false") return false;
    throw new OptionValueError(`must be true or false, not ${quote(text)}`);
  });

export const listOption = (init: OptionInit<readonly string[]>): Option<readonly string[]> =>
  option("list", "<a,b,…>", init, (raw) =>
    (typeof raw === "string" ? [raw] : raw)
      .flatMap((text) => text.split(","))
      .map((text) => text.trim())
      .filter((text) => text !== ""),
  );

export function choiceOption<const T extends string>(
  init: OptionInit<NoInfer<T>> & { readonly choices: readonly T[] },
): Option<T> {
  const known = init.choices.join(", ");
  return option("text", `<${init.choices.join("|")}>`, init, (raw) => {
    const text = single(raw);
    const choice = init.choices.find((candidate) => candidate === text);
    if (choice === undefined) throw new OptionValueError(`must be one of ${known}, not ${quote(text)}`);
    return choice;
  });
}

function option<T>(
  type: Option<T>["type"],
  placeholder: string,
  init: OptionInit<T>,
  convert: (raw: RawValue) => T,
): Option<T> {
  return {
    flag: init.flag,
    type,
    placeholder: init.placeholder ?? placeholder,
    default: init.default,
    defaultText: init.defaultText ?? String(init.default),
    description: init.description,
    parse(raw) {
      const value = convert(raw);
      const fault = init.rule?.(value);
      if (fault !== undefined) throw new OptionValueError(fault);
      return value;
    },
  };
}

function single(raw: RawValue): string {
  if (typeof raw === "string") return raw;
  const [value] = raw;
  if (value === undefined || raw.length > 1) throw new OptionValueError("must be one value, not a list");
  return value;
}

export const quote = (text: string): string => JSON.stringify(text);
