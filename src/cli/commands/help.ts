import { Command } from 'commander';

/**
 * Adds `help NAME`, which shows the page of a command. A name of none is refused as it is without
 * `help`, with what may have been meant.
 */
export function addHelpCommand(program: Command): void {
  const command = new Command('help')
    .summary('display help for command')
    .argument('[COMMAND...]', 'the command whose page is shown')
    .action(async (names: readonly string[]) => {
      let page = program;
      for (const name of names) {
        if (page.commands.length === 0) break;
        const inner = page.commands.find((one) => one.name() === name);
        // oxlint-disable-next-line no-await-in-loop -- it does not come back
        if (inner === undefined) await page.parseAsync([name], { from: 'user' });
        else page = inner;
      }
      page.help();
    });
  program.helpCommand(false).addCommand(command);
}
