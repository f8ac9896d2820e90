import type { Command } from 'commander';

/** What a page of help has behind the arguments and options. */
export interface HelpParts {
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  readonly exitCodes: readonly (readonly [code: number, meaning: string])[];
}

/** Adds examples and exit codes to the help of a command. */
export function addHelp(command: Command, { examples, exitCodes }: HelpParts): Command {
  const lines = examples.flatMap(([line, meaning]) => [`  ${line}`, `      ${meaning}`]);
  return command.addHelpText(
    'after',
    `\nExamples:\n${lines.join('\n')}\n\n${exitCodesText(exitCodes)}`,
  );
}

export function exitCodesText(exitCodes: HelpParts['exitCodes']): string {
  return `Exit codes:\n${exitCodes.map(([code, meaning]) => `  ${code}  ${meaning}`).join('\n')}`;
}
