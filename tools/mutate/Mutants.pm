# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

Mutants - small mistakes that are made mechanically in C

=head1 DESCRIPTION

Reads a C file as a row of tokens, without a preprocessor and without types. That is
enough because the files are laid out by pg_bsd_indent: an operator with two operands
has a space after it, one with a single operand has none.

Only what is inside of functions is changed, and there not: comments, strings,
directives, types in declarations, anything static, the texts and codes of errors,
assertions, sizeof and offsetof.

=cut

package Mutants;

use strict;
use warnings;

use Digest::MD5 qw(md5_hex);
use Exporter 'import';
use List::Util qw(uniq);

our @EXPORT_OK = qw(blocks_marked in_order mutants mutated);

# Their arguments are left as they are.
my $untouched = qr/^(?:
	ereport | elog | err(?:code|msg|msg_plural|detail|detail_plural|hint|context)[a-z_]* |
	gettext_noop | _ | sizeof | offsetof | lengthof | typeof |
	Assert[A-Za-z]* | StaticAssert[A-Za-z]*
)$/x;

my $control = qr/^(?:if|while|for|switch|(?:reverse_)?(?:foreach|dlist_foreach|slist_foreach|forboth|forfour)[a-z_]*)$/;
my $keyword = qr/^(?:if|else|while|for|do|switch|case|default|return|break|continue|goto|
	sizeof|static|const|volatile|struct|union|enum|unsigned|typedef|extern|register)$/x;

# Operators that need two operands, or two of one kind, and what becomes of them.
my %compare = (
	'==' => ['!='],
	'!=' => ['=='],
	'<' => [ '<=', '>=' ],
	'<=' => [ '<', '>' ],
	'>' => [ '>=', '<=' ],
	'>=' => [ '>', '<' ]);
my %logic = ('&&' => ['||'], '||' => ['&&']);
my %arithmetic = (
	'+' => ['-'], '-' => ['+'], '*' => ['/'], '/' => ['*'], '%' => ['/'],
	'+=' => ['-='], '-=' => ['+='], '++' => ['--'], '--' => ['++']);
my %bits = (
	'&' => ['|'], '|' => ['&'], '^' => ['&'], '<<' => ['>>'], '>>' => ['<<'],
	'&=' => ['|='], '|=' => ['&=']);

=pod

=head1 FUNCTIONS

=over

=item mutants($file, $source)

Returns all mutants of that text as references to hashes: C<file>, C<line>,
C<function>, C<kind>, C<before> and C<after> on one line each, C<offset>, C<length> and
C<text>, which replaces them, C<block>, the innermost block it is in (see
blocks_marked), and C<key>, a short name that stays the same while the function does.

=cut

sub mutants
{
	my ($file, $source) = @_;
	my $tokens = _tokens($source);
	my @found;

	foreach my $function (_functions($tokens))
	{
		my %ordinal;

		foreach my $mutant (_in_function($tokens, $function, $source))
		{
			my $before = substr $source, $mutant->{offset}, $mutant->{length};
			my $nth = $ordinal{"$mutant->{kind} $mutant->{offset}"} //=
			  $ordinal{ $mutant->{kind} }++;

			# The lines that follow keep their numbers: errors contain them.
			my $lines = ($before =~ tr/\n//) - ($mutant->{text} =~ tr/\n//);
			$mutant->{after} = _on_one_line($mutant->{text});
			$mutant->{text} .= "\n" x $lines if $lines > 0;
			$mutant->{before} = _on_one_line($before);
			$mutant->{file} = $file;
			$mutant->{function} = $function->{name};
			$mutant->{line} = 1 + (substr($source, 0, $mutant->{offset}) =~ tr/\n//);
			$mutant->{block} = "$file $function->{name} $mutant->{block}";
			$mutant->{key} = substr md5_hex(
				join "\0", $file, $function->{name},
				@$mutant{qw(kind before after)}, $nth), 0, 12;
			push @found, $mutant;
		}
	}
	return @found;
}

=pod

=item mutated($source, $mutant)

Returns the text with that mistake in it.

=cut

sub mutated
{
	my ($source, $mutant) = @_;

	substr $source, $mutant->{offset}, $mutant->{length}, $mutant->{text};
	return $source;
}

=pod

=item in_order($seed, @mutants)

Returns them in the order in which they are to be tried: of each file one, then of
each file the next one. Within a file the order is that of the seed, but no place has
its second mutant before each place had one.

=cut

sub in_order
{
	my ($seed, @mutants) = @_;
	my (%of_file, @order);

	push @{ $of_file{ $_->{file} } }, $_ foreach @mutants;
	foreach my $of_file (values %of_file)
	{
		my %times;

		$of_file = [ sort { $a->[0] cmp $b->[0] }
			  map { [ md5_hex("$seed $_->{key}"), $_ ] } @$of_file ];
		$of_file = [ map { $_->[1] }
			  sort { $a->[0] <=> $b->[0] }
			  map { [ $times{ $_->[1]{offset} }++, $_->[1] ] } @$of_file ];
	}
	while (%of_file)
	{
		foreach my $file (sort keys %of_file)
		{
			push @order, shift @{ $of_file{$file} };
			delete $of_file{$file} unless @{ $of_file{$file} };
		}
	}
	return @order;
}

=pod

=item blocks_marked($file, $source, $number)

Returns the text with a statement at the beginning of each block that notes that it
was reached, flake_reached[N] = 1 with N from $number on; and the names of these
blocks in that order.

=back

=cut

sub blocks_marked
{
	my ($file, $source, $number) = @_;
	my $tokens = _tokens($source);
	my (@names, @places);

	foreach my $function (_functions($tokens))
	{
		foreach my $block (_blocks($tokens, $function))
		{
			push @names, "$file $function->{name} $block->{ordinal}";
			push @places, $tokens->[ $block->{first} ]{offset} + 1;
		}
	}
	foreach my $i (reverse 0 .. $#places)
	{
		substr $source, $places[$i], 0, sprintf ' flake_reached[%d] = 1;', $number + $i;
	}
	return ($source, @names);
}

sub _on_one_line
{
	my ($text) = @_;

	$text =~ s/\s+/ /g;
	return $text;
}

# The tokens: kind (word, number, string, sign), text, offset; and "spaced" if white
# space follows.
sub _tokens
{
	my ($source) = @_;
	my @tokens;

	pos($source) = 0;
	while (pos($source) < length $source)
	{
		next if $source =~ m{\G(?:\s+|/\*.*?\*/|//[^\n]*)}gcs;
		next if $source =~ m{(?:\A|(?<=\n))\G[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*}gcs;

		my $offset = pos $source;
		my $kind =
			$source =~ /\G(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')/gcs ? 'string'
		  : $source =~ /\G[A-Za-z_]\w*/gc ? 'word'
		  : $source =~ /\G\.?\d(?:[eE][+-]|[\w.])*/gc ? 'number'
		  : $source =~ /\G(?:<<=|>>=|\.\.\.|->|\+\+|--|&&|\|\||[-+*\/%&|^=!<>]=|<<|>>|.)/gcs
		  ? 'sign'
		  : die 'no token';
		my $length = pos($source) - $offset;

		push @tokens,
		  { kind => $kind,
			text => substr($source, $offset, $length),
			offset => $offset,
			end => $offset + $length,
			spaced => substr($source, $offset + $length, 1) =~ /\s/ ? 1 : 0 };
	}
	return \@tokens;
}

# The token that closes the parenthesis, brace or bracket at $i.
sub _closing
{
	my ($tokens, $i) = @_;
	my $depth = 0;

	for (; $i < @$tokens; $i++)
	{
		my $text = $tokens->[$i]{kind} eq 'sign' ? $tokens->[$i]{text} : '';

		$depth++ if $text =~ /^[({\[]$/;
		$depth-- if $text =~ /^[)}\]]$/;
		return $i if $depth == 0;
	}
	die "unbalanced";
}

# The functions that have a body: name, and the braces as numbers of tokens.
sub _functions
{
	my ($tokens) = @_;
	my @functions;

	for (my $i = 0; $i < @$tokens; $i++)
	{
		my $text = $tokens->[$i]{text};

		if ($text eq '(')
		{
			my $closing = _closing($tokens, $i);

			push @functions,
			  { name => $tokens->[ $i - 1 ]{text},
				first => $closing + 1,
				last => _closing($tokens, $closing + 1) }
			  if $tokens->[ $closing + 1 ]{text} eq '{'
			  && $tokens->[ $i - 1 ]{kind} eq 'word';
			$i = $closing;
		}
		elsif ($text eq '{')
		{
			$i = _closing($tokens, $i);
		}
	}
	return @functions;
}

# The blocks of a function: but no initializer, and no body of a switch, whose
# beginning nothing reaches.
sub _blocks
{
	my ($tokens, $function) = @_;
	my (@blocks, %no_block);

	for (my $i = $function->{first}; $i < $function->{last}; $i++)
	{
		my $text = $tokens->[$i]{text};

		if ($text eq 'switch')
		{
			$no_block{ _closing($tokens, $i + 1) + 1 } = 1;
		}
		elsif ($text eq '{' && $i > $function->{first} && !_begins_block($tokens, $i))
		{
			$i = _closing($tokens, $i);
		}
		elsif ($text eq '{' && !$no_block{$i})
		{
			push @blocks,
			  { ordinal => scalar @blocks, first => $i, last => _closing($tokens, $i) };
		}
	}
	return @blocks;
}

# Whether the brace at $i, inside of a function, begins a block, and no initializer.
sub _begins_block
{
	my ($tokens, $i) = @_;
	my $before = $tokens->[ $i - 1 ]{text};

	return $before eq ')' ? _ends_control($tokens, $i - 1) : $before =~ /^(?:[;{}:]|else|do)$/;
}

# Whether the parenthesis at $i ends what is after if, while and so on.
sub _ends_control
{
	my ($tokens, $i) = @_;
	my $depth = 0;

	for (; $i > 0; $i--)
	{
		$depth++ if $tokens->[$i]{text} eq ')';
		$depth-- if $tokens->[$i]{text} eq '(';
		last if $depth == 0;
	}
	return $tokens->[ $i - 1 ]{text} =~ $control ? 1 : 0;
}

# The mutants of one function.
sub _in_function
{
	my ($tokens, $function, $source) = @_;
	my @blocks = _blocks($tokens, $function);
	my @untouched;
	my @found;

	my $found = sub {
		my ($kind, $from, $to, @texts) = @_;
		my ($block) =
		  grep { $_->{first} < $from && $to < $_->{last} } reverse @blocks;

		foreach my $text (@texts)
		{
			push @found,
			  { kind => $kind,
				offset => $tokens->[$from]{offset},
				length => $tokens->[$to]{end} - $tokens->[$from]{offset},
				text => $text,
				block => $block->{ordinal} };
		}
	};
	my $text_of = sub {
		my ($from, $to) = @_;

		return substr $source, $tokens->[$from]{offset},
		  $tokens->[$to]{end} - $tokens->[$from]{offset};
	};

	# Statements, and the types of declarations
	foreach my $i ($function->{first} + 1 .. $function->{last} - 1)
	{
		next unless _begins_statement($tokens, $i);
		my $text = $tokens->[$i]{text};

		if ($text eq 'else')
		{
			$found->('removed else', $i, $i, 'else if (0)');
		}
		elsif ($text =~ /^(?:return|break|continue|goto)$/)
		{
			my $end = _semicolon($tokens, $i);

			$found->('removed jump', $i, $end, ';') if $end + 1 < $function->{last};
		}
		elsif ($text =~ /^(?:if|while)$/)
		{
			my $closing = _closing($tokens, $i + 1);

			$found->('negated condition', $i + 1, $closing,
				'(!' . $text_of->($i + 1, $closing) . ')');
		}
		elsif (my @types = _types($tokens, $i))
		{
			$untouched[$_] = 1 foreach @types;
		}
		elsif ($tokens->[$i]{kind} eq 'word' ? $text !~ /$keyword|$control|^Assert|^PG_|^StaticAssert/
			: $text =~ /^(?:[(*]|\+\+|--)$/)
		{
			my $end = _semicolon($tokens, $i);

			$found->('removed statement', $i, $end, ';') if defined $end;
		}
	}

	# Operators and constants
	for (my $i = $function->{first} + 1; $i < $function->{last}; $i++)
	{
		my ($kind, $text, $spaced) = @{ $tokens->[$i] }{qw(kind text spaced)};

		if ($kind eq 'word' && $text =~ $untouched && $tokens->[ $i + 1 ]{text} eq '(')
		{
			$i = _closing($tokens, $i + 1);
		}
		elsif ($untouched[$i] || $kind eq 'string')
		{
			next;
		}
		elsif ($kind eq 'number')
		{
			$found->('constant', $i, $i, _other_numbers($text));
		}
		elsif ($text =~ /^(?:true|false)$/)
		{
			$found->('constant', $i, $i, $text eq 'true' ? 'false' : 'true');
		}
		elsif ($compare{$text})
		{
			$found->('comparison', $i, $i, @{ $compare{$text} });
		}
		elsif ($logic{$text})
		{
			$found->('logic', $i, $i, @{ $logic{$text} });
		}
		elsif ($text eq '!' || $text eq '~')
		{
			$found->('removed negation', $i, $i, '');
		}
		elsif ($arithmetic{$text} && ($spaced || length $text > 1))
		{
			$found->('arithmetic', $i, $i, @{ $arithmetic{$text} });
		}
		elsif ($bits{$text} && $spaced)
		{
			$found->('bits', $i, $i, @{ $bits{$text} });
		}
	}
	return @found;
}

sub _begins_statement
{
	my ($tokens, $i) = @_;
	my $before = $tokens->[ $i - 1 ]{text};
	my $depth = 0;
	my $j;

	return 0 if $tokens->[$i]{text} =~ /^[;{}]$/;
	return _ends_control($tokens, $i - 1) if $before eq ')';
	if ($before eq ':')
	{
		# After a label, and not in a ?: expression
		for ($j = $i - 2; $j > 0 && $tokens->[$j]{text} !~ /^[;{}?]$/; $j--) { }
		return $tokens->[$j]{text} eq '?' ? 0 : 1;
	}
	if ($before eq ';')
	{
		# Not in for (...; ...; ...)
		for ($j = $i - 1; $j > 0 && $tokens->[$j]{text} !~ /^[{}]$/; $j--)
		{
			$depth++ if $tokens->[$j]{text} eq ')';
			return 0 if $tokens->[$j]{text} eq '(' && --$depth < 0;
		}
		return 1;
	}
	return $before =~ /^(?:[{}]|else|do)$/ ? 1 : 0;
}

# The semicolon that ends the statement at $i; nothing if it is not one that ends so.
sub _semicolon
{
	my ($tokens, $i) = @_;

	for (; $i < @$tokens; $i++)
	{
		my $text = $tokens->[$i]{text};

		return $i if $text eq ';';
		return if $text eq '}' || ($text eq '{' && _begins_block($tokens, $i));
		$i = _closing($tokens, $i) if $text =~ /^[({\[]$/;
	}
	return;
}

# If a declaration begins at $i: the tokens of it that are to stay as they are, which
# is all but what initializes variables that are not static.
sub _types
{
	my ($tokens, $i) = @_;
	my $end = _semicolon($tokens, $i);
	my $initializes = 0;
	my @types;

	my ($j, $words) = ($i, 0);
	for (; $j < @$tokens && ($tokens->[$j]{kind} eq 'word' || $tokens->[$j]{text} eq '*'); $j++)
	{
		return if $tokens->[$j]{text} =~ /^(?:return|goto|case|else|do)$/;
		$words++ if $tokens->[$j]{kind} eq 'word';
	}
	return unless defined $end && $words >= 2 && $tokens->[$j]{text} =~ /^[=;,\[]$/;
	return $i .. $end if $tokens->[$i]{text} eq 'static';

	for ($j = $i; $j <= $end; $j++)
	{
		my $text = $tokens->[$j]{text};

		$initializes = 0 if $text =~ /^[,;]$/;
		push @types, $j unless $initializes;
		$initializes = 1 if $text eq '=';
		if ($text =~ /^[({\[]$/)
		{
			my $closing = _closing($tokens, $j);

			push @types, $j .. $closing unless $initializes;
			# What is in it is initialized, and its commas are not between variables.
			$j = $closing;
		}
	}
	return @types;
}

# n + 1, n - 1 and 0
sub _other_numbers
{
	my ($text) = @_;
	my ($digits, $suffix) = $text =~ /^(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$/ or return;
	my $number = $digits =~ /^0/ ? oct $digits : $digits;

	return map { "$_$suffix" } grep { $_ != $number && $_ >= 0 } uniq($number + 1, $number - 1, 0);
}

1;
